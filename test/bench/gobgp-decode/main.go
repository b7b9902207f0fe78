// Command gobgp-decode measures GoBGP's own decoder: it reads an MRT file into memory and decodes every record in it with
// GoBGP's packages mrt and bgp, again and again, until the time is up. One pass before the clock starts warms the caches. The
// last line is JSON. Its sums are compared with those of the decoder it is measured against: both must have read the same.
//
// Usage: gobgp-decode FILE SECONDS
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/packet/mrt"
)

type sums struct {
	Messages   int `json:"messages"`
	Updates    int `json:"updates"`
	Prefixes   int `json:"prefixes"`
	Attributes int `json:"attributes"`
}

type result struct {
	sums
	Passes            int     `json:"passes"`
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messagesPerSecond"`
	Runtime           string  `json:"runtime"`
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: gobgp-decode FILE SECONDS"))
	}
	data, err := os.ReadFile(os.Args[1])
	fail(err)
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	fail(err)
	counted, err := pass(data, count)
	fail(err)
	out := result{sums: counted, Runtime: runtime.Version()}
	started := time.Now()
	for time.Since(started).Seconds() < seconds {
		_, err := pass(data, keep)
		fail(err)
		out.Passes++
	}
	out.Seconds = time.Since(started).Seconds()
	out.MessagesPerSecond = float64(out.Messages*out.Passes) / out.Seconds
	fail(json.NewEncoder(os.Stdout).Encode(out))
}

// pass decodes all BGP4MP messages of the file once; other records (state changes) are stepped over.
func pass(data []byte, take func(*sums, *bgp.BGPMessage)) (sums, error) {
	var total sums
	for len(data) > 0 {
		header, err := mrt.ParseHeader(data[:mrt.MRT_COMMON_HEADER_LEN])
		if err != nil {
			return total, err
		}
		end := mrt.MRT_COMMON_HEADER_LEN + int(header.Len)
		record, err := mrt.ParseBody(data[mrt.MRT_COMMON_HEADER_LEN:end], header)
		if err != nil {
			return total, err
		}
		if body, ok := record.Body.(*mrt.BGP4MPMessage); ok {
			total.Messages++
			take(&total, body.BGPMessage)
		}
		data = data[end:]
	}
	return total, nil
}

// sink keeps the last message alive, so that no decoding can be optimised away.
var sink *bgp.BGPMessage

func keep(_ *sums, message *bgp.BGPMessage) { sink = message }

func count(total *sums, message *bgp.BGPMessage) {
	update, ok := message.Body.(*bgp.BGPUpdate)
	if !ok {
		return
	}
	total.Updates++
	total.Attributes += len(update.PathAttributes)
	total.Prefixes += len(update.NLRI) + len(update.WithdrawnRoutes)
	for _, attribute := range update.PathAttributes {
		switch value := attribute.(type) {
		case *bgp.PathAttributeMpReachNLRI:
			total.Prefixes += len(value.Value)
		case *bgp.PathAttributeMpUnreachNLRI:
			total.Prefixes += len(value.Value)
		}
	}
}

func fail(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "gobgp-decode:", err)
	os.Exit(1)
}
