// A program of Go with C code, to attach to: cgo GO ROUNDS PROFILE. It waits until the file GO is there. Then 20 goroutines make ROUNDS more
// each, one after the other, whose stacks grow (are copied) and at whose ends C code takes a block of 777 bytes, keeps it across another
// growth, and frees it. Meanwhile the collector runs, which makes stacks smaller, and the profiler (into PROFILE) walks them. Status 7.
package main

/*
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline)) static void *c_take(size_t size)
{
	void *p = malloc(size);

	sink = p; // which other threads write, too
	return p;
}

__attribute__((noinline)) static void c_give(void *p)
{
	free(p);
}
*/
import "C"

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

func deep(depth int, at func()) int {
	var room [512]byte

	room[depth%512] = byte(depth)
	if depth == 0 {
		at()
		return int(room[0])
	}
	return deep(depth-1, at) + int(room[(depth+1)%512])
}

func work(round int) int {
	var p unsafe.Pointer

	deep(round%200, func() { p = C.c_take(777) })
	return deep((round*7)%300, func() { C.c_give(p) })
}

func main() {
	var all sync.WaitGroup
	rounds, _ := strconv.Atoi(os.Args[2])

	for _, err := os.Stat(os.Args[1]); err != nil; _, err = os.Stat(os.Args[1]) {
		time.Sleep(time.Millisecond)
	}
	debug.SetGCPercent(5)
	profile, _ := os.Create(os.Args[3])
	pprof.StartCPUProfile(profile)
	for i := 0; i < 20; i++ {
		all.Add(1)
		go func() {
			for round := 0; round < rounds; round++ {
				done := make(chan int)
				go func() { done <- work(round) }()
				<-done
				if round%50 == 0 {
					runtime.GC()
				}
			}
			all.Done()
		}()
	}
	all.Wait()
	pprof.StopCPUProfile()
	os.Exit(7)
}
