// C's allocations out of a Go program, which has a heap of its own: go run cgo.go FILE ROUNDS. Begins when the file is there.
package main

/*
#include <stdlib.h>

static void round_of_c(void)
{
	char *volatile block = malloc(77);

	free(block);
}
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

var kept []byte

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	for {
		if _, err := os.Stat(os.Args[1]); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i := 0; i < rounds; i++ {
		C.round_of_c()
		kept = make([]byte, 100000)
	}
}
