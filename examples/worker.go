// A method of `reading` in Go: go build -o worker worker.go; bytelab run reading --worker 'mine=./worker'
package main

import ("bufio"; "fmt"; "net/url"; "os"; "strings"; "time")

func main() {
	path := ""
	fmt.Println("hello 1 name=mine lang=go")
	for orders := bufio.NewScanner(os.Stdin); orders.Scan() && orders.Text() != "bye"; {
		words := strings.Fields(orders.Text())
		if words[0] == "prepare" {
			for _, word := range words {
				if value, found := strings.CutPrefix(word, "file="); found { path, _ = url.PathUnescape(value) }
			}
			fmt.Println("ready")
			continue
		}
		start, total := time.Now(), uint64(0)
		all, _ := os.ReadFile(path)
		for _, b := range all { total += uint64(b) }
		fmt.Printf("done %s wall=%d bytes=%d answer=%016x\n", words[1], time.Since(start).Nanoseconds(), len(all), total)
	}
}
