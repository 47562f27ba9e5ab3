// A program of Go alone: it allocates until it is killed.
package main

import "time"

var sink []byte

func main() {
	for {
		sink = make([]byte, 10000)
		time.Sleep(time.Millisecond)
	}
}
