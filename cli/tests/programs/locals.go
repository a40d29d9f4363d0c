// Prints its variables at the marked lines, as ntrace prints them.
package main

import "fmt"

type point struct{ X, Y int }

//go:noinline
func work(n int, s string, list []int32) (res string) {
	total := 0
	for i, v := range list {
		total := total + int(v)
		fmt.Printf("n=%d, s=%q, list=[%d, %d, %d], res=%q, i=%d, v=%d, total=%d\n", n, s, list[0], list[1], list[2], res, i, v, total) /* loop */
		n++
	}
	p := point{n, total}
	total += p.X
	res = s + "!"
	fmt.Printf("n=%d, s=%q, list=[%d, %d, %d], res=%q, total=%d, p={X=%d, Y=%d}\n", n, s, list[0], list[1], list[2], res, total, p.X, p.Y) /* end */
	return
}

func main() {
	work(-3, "hello", []int32{1, -2, 3})
}
