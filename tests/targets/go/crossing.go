// A program of Go with C code that calls Go back: crossing GOROUTINES ROUNDS. In each round a
// goroutine goes some way down, where C code takes a block of 777 bytes; then C code calls Go, which
// goes down farther than its stack has room, so that this is copied, and takes a block of 778 by C
// code again, and, back in C, one of 779. The collector runs meanwhile. Status 7.
package main

/*
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline)) static void c_take(size_t size)
{
	void *p = malloc(size);

	sink = p; // which other threads write, too
	free(p);
}

extern void goBack(int);

__attribute__((noinline)) static void c_back(int depth)
{
	goBack(depth);
	c_take(779);
	sink = (void *)&sink; // so that it is still here
}
*/
import "C"

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
)

//go:noinline
func deep(depth int, at func()) int {
	var room [512]byte

	room[depth%512] = byte(depth)
	if depth == 0 {
		at()
		return int(room[0])
	}
	return deep(depth-1, at) + int(room[(depth+1)%512])
}

//go:noinline
func take() {
	C.c_take(777)
}

//export goBack
func goBack(depth C.int) {
	deep(int(depth), func() { C.c_take(778) })
}

//go:noinline
func round(number int) {
	deep(number%20, take)
	deep(number%7, func() { C.c_back(C.int(number % 300)) })
}

func main() {
	var all sync.WaitGroup
	goroutines, _ := strconv.Atoi(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])

	debug.SetGCPercent(5)
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func(first int) {
			for i := 0; i < rounds; i++ {
				done := make(chan int)
				go func() {
					round(first + i)
					round(first + i + 1)
					done <- 1
				}()
				<-done
				if i%50 == 0 {
					runtime.GC()
				}
			}
			all.Done()
		}(i)
	}
	all.Wait()
	os.Exit(7)
}
