// Command gobgp-inject fills a running gobgpd with routes and then adds a neighbour, all over its gRPC API: the stream
// with many paths per request is the fastest way into gobgpd that its users have. (`gobgp global rib add` starts a
// program per route; `gobgp mrt inject` sends one path per request and ends without waiting for the stream.)
//
// Usage: gobgp-inject ROUTES NEXT-HOP NEIGHBOUR ASN, where each line of ROUTES is an address and its communities as numbers.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const (
	target      = "127.0.0.1:50051"
	pathsPerAdd = 1000
	bound       = 60 * time.Second
)

func main() {
	if len(os.Args) != 5 {
		fail(fmt.Errorf("usage: gobgp-inject ROUTES NEXT-HOP NEIGHBOUR ASN"))
	}
	asn, err := strconv.ParseUint(os.Args[4], 10, 32)
	fail(err)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	// Dialling starts together with gobgpd: the first attempts are refused and must be repeated quickly.
	conn, err := grpc.Dial(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail(err)
	client := api.NewGobgpApiClient(conn)
	for {
		response, err := client.GetBgp(ctx, &api.GetBgpRequest{})
		if err == nil && response.GetGlobal().GetAsn() != 0 {
			break
		}
		if ctx.Err() != nil {
			fail(fmt.Errorf("gobgpd did not answer: %w", err))
		}
		conn.ResetConnectBackoff()
		time.Sleep(5 * time.Millisecond)
	}
	fail(inject(ctx, client, os.Args[1], os.Args[2]))
	_, err = client.AddPeer(ctx, &api.AddPeerRequest{Peer: &api.Peer{
		Conf: &api.PeerConf{NeighborAddress: os.Args[3], PeerAsn: uint32(asn)},
		AfiSafis: []*api.AfiSafi{{Config: &api.AfiSafiConfig{
			Family:  ipv4Unicast(),
			Enabled: true,
		}}},
	}})
	fail(err)
}

func ipv4Unicast() *api.Family {
	return &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}
}

func inject(ctx context.Context, client api.GobgpApiClient, file, nextHop string) error {
	input, err := os.Open(file)
	if err != nil {
		return err
	}
	defer input.Close()
	stream, err := client.AddPathStream(ctx)
	if err != nil {
		return err
	}
	origin := wrap(&api.OriginAttribute{Origin: 0})
	hop := wrap(&api.NextHopAttribute{NextHop: nextHop})
	batch := make([]*api.Path, 0, pathsPerAdd)
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := stream.Send(&api.AddPathStreamRequest{TableType: api.TableType_GLOBAL, Paths: batch})
		batch = batch[:0]
		return err
	}
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		path, err := parse(lines.Text())
		if err != nil {
			return err
		}
		path.Pattrs = append([]*anypb.Any{origin, hop}, path.Pattrs...)
		batch = append(batch, path)
		if len(batch) == pathsPerAdd {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	_, err = stream.CloseAndRecv()
	return err
}

func parse(line string) (*api.Path, error) {
	fields := strings.Fields(line)
	path := &api.Path{
		Family: ipv4Unicast(),
		Nlri:   wrap(&api.IPAddressPrefix{Prefix: fields[0], PrefixLen: 32}),
	}
	if len(fields) == 1 {
		return path, nil
	}
	communities := make([]uint32, 0, len(fields)-1)
	for _, field := range fields[1:] {
		value, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil, err
		}
		communities = append(communities, uint32(value))
	}
	path.Pattrs = []*anypb.Any{wrap(&api.CommunitiesAttribute{Communities: communities})}
	return path, nil
}

func wrap(message proto.Message) *anypb.Any {
	value, err := anypb.New(message)
	fail(err)
	return value
}

func fail(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "gobgp-inject:", err)
	os.Exit(1)
}
