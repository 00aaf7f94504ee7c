// Package api is a Kubernetes client as small as a loader can do with: plain HTTP and JSON. On two cores a full client
// would take CPU from what is being measured.
package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Content types of PATCH.
const (
	JSONType       = "application/json"
	StrategicMerge = "application/strategic-merge-patch+json"
)

// Client talks to one API server as one user.
type Client struct {
	Server string
	CA     []byte
	http   *http.Client
	token  string
}

// StatusError is an answer that is not a success.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// IsCode says whether err is an answer with that status code.
func IsCode(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CAData []byte `json:"certificate-authority-data"`
			CAFile string `json:"certificate-authority"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			CertData []byte `json:"client-certificate-data"`
			KeyData  []byte `json:"client-key-data"`
			CertFile string `json:"client-certificate"`
			KeyFile  string `json:"client-key"`
			Token    string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

// FromKubeconfig reads a file with one cluster and one user, which is what scripts/cluster writes.
func FromKubeconfig(path string) (*Client, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config kubeconfig
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, fmt.Errorf("%s: needs exactly one cluster and one user", path)
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	read := func(data []byte, file string) []byte {
		if len(data) == 0 && file != "" && err == nil {
			data, err = os.ReadFile(file)
		}
		return data
	}
	ca := read(cluster.CAData, cluster.CAFile)
	cert, key := read(user.CertData, user.CertFile), read(user.KeyData, user.KeyFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
	}
	if len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return &Client{Server: cluster.Server, CA: ca, http: &http.Client{Transport: transport}, token: user.Token}, nil
}

// WriteKubeconfig writes a file by which a program acts as the owner of the token at the same API server.
func (c *Client) WriteKubeconfig(path, user, token string) error {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": "bench",
		"clusters":        []any{map[string]any{"name": "bench", "cluster": map[string]any{"server": c.Server, "certificate-authority-data": c.CA}}},
		"users":           []any{map[string]any{"name": user, "user": map[string]any{"token": token}}},
		"contexts":        []any{map[string]any{"name": "bench", "context": map[string]any{"cluster": "bench", "user": user}}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func (c *Client) send(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", JSONType)
	// The API server makes a field manager of it, and those that begin with multi-operator- are the manager's own.
	req.Header.Set("User-Agent", "loader")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		status.Message = strings.TrimSpace(string(text))
	}
	return nil, &StatusError{Code: resp.StatusCode, Message: fmt.Sprintf("%s %s: %s", method, path, status.Message)}
}

// Do sends one request and decodes the answer into out unless that is nil.
func (c *Client) Do(ctx context.Context, method, path, contentType string, in, out any) error {
	var body []byte
	switch v := in.(type) {
	case nil:
	case []byte:
		body = v
	default:
		var err error
		if body, err = json.Marshal(v); err != nil {
			return err
		}
	}
	resp, err := c.send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out != nil {
		return json.NewDecoder(resp.Body).Decode(out)
	}
	// Read to the end, or the connection is not used again.
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// Text reads a page that is not JSON, such as /metrics.
func (c *Client) Text(ctx context.Context, path string) ([]byte, error) {
	resp, err := c.send(ctx, http.MethodGet, path, "text/plain", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// Post creates an object; that it exists already is no error.
func (c *Client) Post(ctx context.Context, path string, in any) error {
	err := c.Do(ctx, http.MethodPost, path, JSONType, in, nil)
	if IsCode(err, http.StatusConflict) {
		return nil
	}
	return err
}
