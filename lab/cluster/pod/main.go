// The one program of the lab's pods, and of its machines: `pod pause` does nothing for ever and takes up processes that nobody waits for,
// which is what the sandbox of a pod and the first process of a machine are for. `pod web` is the web server of the scenarios:
// it answers with its pod and its node, and ends the way a server should that is behind a load balancer.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "pause" {
		pause()
	}
	if len(os.Args) > 1 && os.Args[1] == "web" {
		web()
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "sleep" {
		// for a preStop hook, in an image that has no shell
		wait, err := time.ParseDuration(os.Args[2])
		if err == nil {
			time.Sleep(wait)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: pod pause | pod web | pod sleep DURATION")
	os.Exit(2)
}

func pause() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			os.Exit(0)
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

// web serves on $PORT (8080), on every path: whoever asks hears which pod it was, in a header too, for clients that count. After SIGTERM it goes
// on for $DRAIN (2s), since kube-proxy hears of the end of a pod no sooner than the pod itself; then it takes no new connections and
// ends when the last answer is out.
func web() {
	pod, _ := os.Hostname()
	node := or("NODE_NAME", "unknown")
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("X-Node", pod)
		fmt.Fprintf(answer, "pod %s on node %s answers %s\n", pod, node, request.RemoteAddr)
	})
	server := &http.Server{Addr: ":" + or("PORT", "8080"), Handler: mux}
	drain, err := time.ParseDuration(or("DRAIN", "2s"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "DRAIN is no duration, such as 5s")
		os.Exit(2)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		<-signals
		time.Sleep(drain)
		bound, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Shutdown(bound)
		close(ended)
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-ended
}

func or(name string, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
