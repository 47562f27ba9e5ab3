#!/bin/bash
# C++ by g++: templates, operators, lambdas and anonymous namespaces, with debug information and by the symbol table.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-languages.sh"
need g++ objcopy
cat >"$T/p.cc" <<'CXX'
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
#define KEEP __attribute__((noinline))
static void *volatile kept;
namespace shop {
template <typename T, int N> struct shelf {
	KEEP void fill(const T &) { kept = malloc(N); asm volatile(""); }
	KEEP shelf &operator+=(int n) { kept = malloc((size_t)n); asm volatile(""); return *this; }
};
namespace { KEEP void hidden(unsigned n) { kept = malloc(n); asm volatile(""); } }
}
int main()
{
	shop::shelf<std::string, 77> s;
	s.fill("x");
	s += 5;
	shop::hidden(9);
	auto closure = [](int n) KEEP { kept = malloc((size_t)n); asm volatile(""); };
	closure(11);
	return 0;
}
CXX
g++ -g -O1 "$T/p.cc" -o "$T/p"
check_language "$T/p" "::fill(std::__cxx11::basic_string<char" "shop::shelf<std::__cxx11::basic_string<char" \
	"77>::operator+=(int)" "shop::(anonymous namespace)::hidden(unsigned int)" "main::{lambda(int)#1}::operator()(int) const"
