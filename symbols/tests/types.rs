//! Types from debug information that nobody wrote by accident.

mod common;

use common::build;
use ubp_symbols::Image;
use ubp_symbols::types::TypeError;

#[test]
fn types_that_contain_themselves_end_with_an_error() {
    let image = Image::open(&build("cyclic.s", &["-nostdlib", "-static"])).unwrap();
    let start = image.symbols().iter().find(|symbol| symbol.name == "_start").unwrap().address;
    let function = image.function(start).unwrap().unwrap();
    let kinds: Vec<_> =
        function.parameters.iter().map(|parameter| (&*parameter.name, parameter.kind.clone())).collect();
    let [(_, definition), (_, structure), (_, pointer), (_, nowhere)] = &kinds[..] else { panic!("{kinds:?}") };
    assert_eq!(definition, &Err(TypeError::TooDeep));
    assert_eq!(structure, &Err(TypeError::TooDeep));
    // A pointer leads to its target only when somebody asks.
    assert_eq!(pointer.as_ref().unwrap().size, 8);
    assert!(matches!(nowhere, Err(TypeError::Missing | TypeError::Malformed(_))), "{nowhere:?}");
}
