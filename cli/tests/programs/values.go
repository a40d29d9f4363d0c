// Prints the arguments and the results of its functions as ntrace prints them.
package main

import (
	"fmt"
	"runtime"
)

type point struct {
	X int
	Y float64
}

//go:noinline
func work(n int, s string, list []int32, p point, f float32, b bool, u uint8) (string, int) {
	fmt.Printf("work(n=%d, s=%q, list=[%d, %d, %d], p={X=%d, Y=%.2f}, f=%.2f, b=%t, u=%d) = {%q, %d}\n", n, s, list[0], list[1], list[2], p.X, p.Y, f, b, u, s+"!", n+len(list))
	return s + "!", n + len(list)
}

//go:noinline
func behind(p *point, none *point) *point {
	fmt.Printf("behind(p=%p -> {X=%d, Y=%.2f}, none=0x0) = %p -> {X=%d, Y=%.2f}\n", p, p.X, p.Y, p, p.X, p.Y)
	return p
}

func main() {
	// A call that waits for its output returns on the thread that it began on.
	runtime.LockOSThread()
	work(-3, "hello", []int32{1, -2, 3}, point{4, 2.25}, 1.25, true, 200)
	work(1<<40, "", []int32{0, 0, 0}, point{-1, -0.25}, -1.75, false, 0)
	behind(&point{7, -0.75}, nil)
}
