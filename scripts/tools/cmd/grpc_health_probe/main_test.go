package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// listen returns an unused address of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func TestOnlyAServerThatServesIsHealthy(t *testing.T) {
	listener, server, state := listen(t), grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, state)
	go server.Serve(listener)
	defer server.Stop()
	address := listener.Addr().String()
	if err := probe(address, 10*time.Second); err != nil {
		t.Error(err)
	}
	state.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err := probe(address, 10*time.Second); err == nil || !strings.Contains(err.Error(), "NOT_SERVING") {
		t.Errorf("%v", err)
	}
}

func TestAServerThatIsSilentOrNotThereIsNotHealthy(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	begin := time.Now()
	if err := probe(address, 200*time.Millisecond); err == nil || time.Since(begin) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
	listener.Close()
	if err := probe(address, 10*time.Second); err == nil {
		t.Error("no server listens, and it is healthy")
	}
}
