//! Prints the arguments and the results of its functions as ntrace prints them.

pub enum Shape {
    Dot,
    Circle(f64),
    Rectangle { w: u32, h: u32 },
}

pub struct Pair {
    pub left: u8,
    pub right: i64,
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn texts(s: &str, owned: String, list: &[u16], vector: Vec<i32>) -> Option<u64> {
    println!("texts(s={s:?}, owned={owned:?}, list={list:?}, vector={vector:?}) = {:?}", Some(s.len()));
    Some(s.len() as u64)
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn options(a: Option<u32>, b: Option<&u8>, c: Option<String>, d: Result<u8, i64>, pair: Pair, f: f32, on: bool) -> Result<u32, u8> {
    let (left, right) = (pair.left, pair.right);
    println!("options(a={a:?}, b={b:?}, c={c:?}, d={d:?}, pair={{left={left}, right={right}}}, f={f:?}, on={on}) = Err(9)");
    Err(9)
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn shapes(s: Shape, t: &Shape) -> f64 {
    let shown = |shape: &Shape| match shape {
        Shape::Dot => "Dot".to_string(),
        Shape::Circle(radius) => format!("Circle({radius:?})"),
        Shape::Rectangle { w, h } => format!("Rectangle{{w={w}, h={h}}}"),
    };
    println!("shapes(s={}, t={}) = 1.5", shown(&s), shown(t));
    1.5
}

#[inline(never)]
#[unsafe(no_mangle)]
pub fn behind(b: Box<Pair>, r: &Pair, raw: *const Pair, s: Box<Shape>, none: *const Pair) -> Box<Pair> {
    let pair = |pair: &Pair| format!("{{left={}, right={}}}", pair.left, pair.right);
    println!(
        "behind(b={:p} -> {}, r={}, raw={raw:p} -> {}, s={:p} -> Circle(0.75), none={none:p}) = {:p} -> {}",
        b, pair(&b), pair(r), pair(r), s, b, pair(&b)
    );
    b
}

fn main() {
    texts("abc", "own".into(), &[1, 2, 3], vec![-1, 7]);
    let _ = options(Some(7), None, None, Err(-2), Pair { left: 1, right: -5 }, 2.25, true);
    let _ = options(None, None, Some("text".into()), Ok(3), Pair { left: 255, right: 5 }, -0.5, false);
    shapes(Shape::Rectangle { w: 2, h: 3 }, &Shape::Circle(1.25));
    shapes(Shape::Dot, &Shape::Dot);
    let own = Pair { left: 9, right: -9 };
    behind(Box::new(Pair { left: 3, right: 4 }), &own, &own, Box::new(Shape::Circle(0.75)), std::ptr::null());
}
