#!/bin/bash
# Rust by rustc, in both manglings: paths, generics, closures, without the hash.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-languages.sh"
need rustc objcopy
cat >"$T/p.rs" <<'RUST'
#[inline(never)]
pub fn opaque<T>(thing: T) -> T { thing }
mod depot {
    use crate::opaque;
    pub trait Keep { fn keep(&self) -> Vec<u8>; }
    pub struct Crate(pub usize);
    impl Keep for Crate {
        #[inline(never)]
        fn keep(&self) -> Vec<u8> { opaque(Vec::with_capacity(self.0)) }
    }
    #[inline(never)]
    pub fn generic<T: Keep>(thing: &T) -> usize { let v = thing.keep(); std::mem::forget(v); 1 }
}
#[inline(never)]
fn call(f: &dyn Fn(usize) -> usize) -> usize { opaque(f(3)) }
fn main() {
    let a = depot::generic(&depot::Crate(1234));
    let b = call(&|n| { let v: Vec<u64> = opaque(Vec::with_capacity(n * 100)); std::mem::forget(v); n });
    std::process::exit(if a + b == 4 { 0 } else { 1 });
}
RUST
build() { # NAME OPTION...
	local name=$1
	shift
	HOME=$T rustc -g -C opt-level=0 "$@" --crate-name "$name" "$T/p.rs" -o "$T/$name" 2>"$T/rustc.err" ||
		skip "rustc can't build here: $(head -n 2 "$T/rustc.err")"
}
build p
check_language "$T/p" "p::depot::generic" "p::main::{{closure}}" "as p::depot::Keep>::keep"
build v0 -C symbol-mangling-version=v0
nm "$T/v0" >"$T/nm"
grep -q ' _RNv' "$T/nm" || fail "rustc did not mangle as asked"
check_language "$T/v0" "v0::depot::generic" "v0::main::{closure#0}" "<v0::depot::Crate as v0::depot::Keep>::keep"
