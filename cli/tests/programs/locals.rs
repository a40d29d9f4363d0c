//! Prints its variables at the marked lines, as ntrace prints them.

pub enum Shape {
    Dot,
    Rectangle { w: u32, h: u32 },
}

#[inline(never)]
fn sum(list: &[u16], name: String) -> i32 {
    let shape = Shape::Rectangle { w: 2, h: 3 };
    let none = Shape::Dot;
    let total: u64 = list.iter().map(|item| u64::from(*item)).sum();
    let total = total as i32 - 10;
    let option = Some(&name);
    let owned = vec![name.len(), 7];
    std::hint::black_box((&shape, &option, &owned, &none));
    println!("list={list:?}, name={name:?}, shape=Rectangle{{w=2, h=3}}, none=Dot, total={total}, option={option:?}, owned={owned:?}"); /* all */
    total
}

fn main() {
    std::process::exit(i32::from(sum(&[1, 2, 3], "abc".into()) > 0));
}
