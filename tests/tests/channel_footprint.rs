//! What the kernel keeps for breakpoints, one or a hundred thousand.

use std::fs::File;

use crossing::channel::ask;
use crossing::debuggee::this_program;
use crossing::uprobe::uprobe;
use crossing::victim::Victim;
use crossing::{channel, figure, kernel_memory};
use wire::commands::{Command, Reply};
use wire::site::{Memory, Site};

/// Breakpoints of one write.
const MANY: usize = 100_000;
/// Uprobes that stand beside them.
const UPROBES: usize = 100;

#[inline(never)]
extern "C" fn work(number: u64) -> u64 {
    std::hint::black_box(number) + 1
}

fn works(number: u64) -> u64 {
    work(number)
}

/// Bytes that the kernel has allocated for itself.
fn kept() -> i64 {
    kernel_memory().values().sum()
}

fn insert(file: &mut File, debuggee: u64, sites: &[u64]) {
    let site = |address: &u64| Site { address: *address, actions: 0, memory: Memory::NONE, condition: None }.bytes();
    let bytes: Vec<u8> = sites.iter().flat_map(site).collect();
    ask(file, Command::Insert { debuggee, sites: &bytes }, |told| match told {
        Ok(Reply::Insert { inserted, failures }) => {
            assert_eq!(inserted as usize + failures.len() / 24, sites.len());
            assert!(failures.len() / 24 * 50 < sites.len());
        }
        other => panic!("{other:?}"),
    });
}

/// Bytes that uprobes cost, one that counts at each of `sites` in this program; nothing where the kernel has no uprobes.
fn uprobes(sites: &[u64]) -> Option<i64> {
    let (program, base) = (std::env::current_exe().expect("procfs"), this_program().base());
    let before = kept();
    let events: Vec<_> = sites.iter().filter_map(|site| uprobe(0, &program, site - base).ok()).collect();
    let all = (kept() - before) * sites.len() as i64;
    (events.len() * 2 > sites.len()).then(|| all / events.len() as i64)
}

crossing::channel_tests! {
    kernel_memory_does_not_grow_with_breakpoints {
        let mut victim = Victim::start(works);
        let mut sites = this_program().instructions();
        let first = work as *const () as u64;
        sites.retain(|site| *site != first);
        assert!(sites.len() > MANY, "{}", sites.len());
        let mut file = channel::open();
        let debuggee = channel::attach(&mut file, victim.id()).unwrap();
        // What the channel keeps for the next command is there before.
        insert(&mut file, debuggee, &sites[..MANY]);
        ask(&mut file, Command::Detach { debuggee }, |told| assert!(told.is_ok()));
        // What the rest of the system does meanwhile is not the same each time.
        let growth = (0..3).map(|_| {
            let debuggee = channel::attach(&mut file, victim.id()).unwrap();
            insert(&mut file, debuggee, &[first]);
            assert_eq!(victim.ask(5), 6);
            let one = kept();
            insert(&mut file, debuggee, &sites[..MANY]);
            assert_eq!(victim.ask(5), 6);
            let many = kept();
            ask(&mut file, Command::Detach { debuggee }, |told| assert!(told.is_ok()));
            println!("kernel memory with 1 breakpoint {one} bytes, with {} {many}", MANY + 1);
            many - one
        });
        let least = growth.min().expect("three");
        figure("module", "bytes_of_100000_breakpoints", least);
        // Less than three bytes each.
        assert!(least < 256 << 10, "{least}");
        drop(file);
        match uprobes(&sites[..UPROBES]) {
            Some(bytes) => println!("{UPROBES} uprobes: {bytes} bytes"),
            None => println!("no uprobes here"),
        }
    }
}
