// Goroutines, channels and the collector; the sums do not depend on their order.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

// What a goroutine adds at a time. It asks nobody for room on its stack, so nobody makes it begin anew.
//
//go:noinline
//go:nosplit
func share(i, j int) int {
	sum := 0
	for k := 0; k < j; k++ {
		sum += i
	}
	return sum
}

func main() {
	var wait sync.WaitGroup
	sums := make([]int, 8)
	results := make(chan int)
	for i := range sums {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			for j := 0; j < 100; j++ {
				sums[i] += share(i, len(make([]byte, j)))
			}
			results <- sums[i]
		}(i)
	}
	total := 0
	for range sums {
		total += <-results
	}
	wait.Wait()
	runtime.GC()
	fmt.Println(sums, total)
}
