// Goroutines whose stacks grow, and so move, while calls are open; they change their threads at a channel.
package main

import "fmt"

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func deep(n int, gate chan int) int {
	var room [64]int
	if n == 0 {
		gate <- 1
		return leaf(n)
	}
	room[n%64] = n
	return deep(n-1, gate) + leaf(room[n%64]) - n
}

func main() {
	gate, results := make(chan int), make(chan int)
	for i := 0; i < 20; i++ {
		go func() { results <- deep(30, gate) }()
	}
	for i := 0; i < 20; i++ {
		<-gate
	}
	sum := 0
	for i := 0; i < 20; i++ {
		sum += <-results
	}
	fmt.Println("sum", sum)
}
