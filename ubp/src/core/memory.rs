/// An access to an arena that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inaccessible {
    /// Offset from the arena's start.
    pub offset: u64,
}

/// The memory of one arena, addressed by offsets from its start in bytes.
pub trait Memory {
    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// Not all bytes can be read.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible>;
    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// Not all bytes can be written.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible>;
}

impl Memory for [u8] {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        let found = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(buffer.len())?))
            .ok_or(Inaccessible { offset })?;
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        let place = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get_mut(start..start.checked_add(bytes.len())?))
            .ok_or(Inaccessible { offset })?;
        place.copy_from_slice(bytes);
        Ok(())
    }
}

impl<M: Memory + ?Sized> Memory for &mut M {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Inaccessible> {
        (**self).read(offset, buffer)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
        (**self).write(offset, bytes)
    }
}
