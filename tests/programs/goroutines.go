// Goroutines, channels and the collector; the sums do not depend on their order.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	var wait sync.WaitGroup
	sums := make([]int, 8)
	results := make(chan int)
	for i := range sums {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			for j := 0; j < 100; j++ {
				sums[i] += i * len(make([]byte, j))
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
