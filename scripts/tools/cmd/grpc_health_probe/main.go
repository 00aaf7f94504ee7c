// Command grpc_health_probe asks a server for its health over gRPC, as OLM has it done in the pods
// of catalogs: it fails unless the answer is SERVING.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	log.SetFlags(0)
	address := flag.String("addr", "", "HOST:PORT")
	flag.Parse()
	if err := probe(*address, 2*time.Second); err != nil {
		log.Fatal(err)
	}
}

func probe(address string, timeout time.Duration) error {
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return err
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s is %s", address, answer.GetStatus())
	}
	return nil
}
