// Functions of which there are several of one name, and callers of each kind.
package main

import "fmt"

type List[T any] struct{ values []T }

//go:noinline
func (list *List[T]) Push(value T) { list.values = append(list.values, value) }

type Counter struct{ n int }

//go:noinline
func (counter *Counter) Up() int { counter.n++; return counter.n }

//go:noinline
func (counter Counter) Value() int { return counter.n }

//go:noinline
func Length[V any](values []V) int { return len(values) }

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func middle(n int) int { return leaf(n) + leaf(n+1) }

//go:noinline
func apply(function func(int), n int) { function(n) }

func main() {
	counter := &Counter{}
	numbers, words := &List[int]{}, &List[string]{}
	sum := 0
	for i := 0; i < 3; i++ {
		apply(func(n int) { sum += middle(n) }, i)
		numbers.Push(i)
		words.Push("x")
		sum += counter.Up() + counter.Value() + Length(numbers.values) + Length(words.values)
	}
	fmt.Println(sum)
}
