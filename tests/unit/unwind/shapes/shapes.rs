// Frames as rustc makes them: closures, iterators, trait objects, drop glue, a panic that is caught.
use std::panic;

type Hook = extern "C" fn();

trait Shape {
    fn visit(&self, hook: Hook, depth: u32) -> u64;
}

struct Leaf(u64);
struct Pair(Box<dyn Shape>, Box<dyn Shape>);
struct OnDrop(Hook);

impl Shape for Leaf {
    #[inline(never)]
    fn visit(&self, hook: Hook, _: u32) -> u64 {
        hook();
        self.0
    }
}

impl Shape for Pair {
    #[inline(never)]
    fn visit(&self, hook: Hook, depth: u32) -> u64 {
        let sum = self.0.visit(hook, depth + 1) + self.1.visit(hook, depth + 1);
        hook();
        sum
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn tree(depth: u32) -> Box<dyn Shape> {
    if depth == 0 {
        Box::new(Leaf(1))
    } else {
        Box::new(Pair(tree(depth - 1), tree(depth - 1)))
    }
}

#[no_mangle]
pub extern "C" fn shapes_run(hook: Hook) {
    let mut values: Vec<i32> = (0..40).map(|i| i * 7 % 41).collect();
    values.sort_by(|a, b| {
        hook();
        a.cmp(b)
    });
    let sum: u64 = (0..4).map(|i| tree(i).visit(hook, 0)).sum();
    assert_eq!(sum, 15);
    panic::set_hook(Box::new(move |_| hook()));
    let caught = panic::catch_unwind(|| {
        let _guard = OnDrop(hook);
        panic!("caught");
    });
    let _ = panic::take_hook();
    assert!(caught.is_err());
    let _guard = OnDrop(hook);
}
