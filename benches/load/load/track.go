package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/measure"
)

// Tracker watches a collection and notes when each object first was as wanted.
type Tracker struct {
	mu   sync.Mutex
	at   map[string]time.Time
	news chan struct{}
	stop context.CancelFunc
	end  chan error
}

// Track starts to watch; wanted says whether an object is there. Stop ends it.
func Track(ctx context.Context, c *api.Client, path string, wanted func(*api.Object) bool) *Tracker {
	ctx, stop := context.WithCancel(ctx)
	t := &Tracker{at: map[string]time.Time{}, news: make(chan struct{}, 1), stop: stop, end: make(chan error, 1)}
	go func() {
		t.end <- c.Watch(ctx, path, func(e api.Event) {
			if e.Type == "DELETED" || !wanted(&e.Object) {
				return
			}
			now := time.Now()
			t.mu.Lock()
			if _, known := t.at[e.Object.Key()]; !known {
				t.at[e.Object.Key()] = now
			}
			t.mu.Unlock()
			select {
			case t.news <- struct{}{}:
			default:
			}
		})
	}()
	return t
}

// Stop ends the watch.
func (t *Tracker) Stop() { t.stop() }

// Times is a copy of what has been noted so far.
func (t *Tracker) Times() map[string]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]time.Time, len(t.at))
	for key, at := range t.at {
		out[key] = at
	}
	return out
}

// Wait returns once n objects were as wanted.
func (t *Tracker) Wait(ctx context.Context, n int, limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		t.mu.Lock()
		have := len(t.at)
		t.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-t.news:
		case err := <-t.end:
			return fmt.Errorf("the watch ended: %v", err)
		case <-deadline.C:
			return fmt.Errorf("%d of %d were ready after %s", have, n, limit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Latency is how long objects took from the answer to their create until they were ready.
type Latency struct {
	Total float64 `json:"total_s"` // from the first create to the last ready
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// LatencyOf joins the two ends for the objects that keep lets through (nil: all).
func LatencyOf(start time.Time, created *Created, ready map[string]time.Time, keep func(string) bool) Latency {
	var ms []float64
	var last time.Time
	for key, made := range created.At {
		at, ok := ready[key]
		if !ok || keep != nil && !keep(key) {
			continue
		}
		// The watch may be faster than the answer to the create.
		ms = append(ms, max(0, float64(at.Sub(made).Microseconds())/1000))
		if at.After(last) {
			last = at
		}
	}
	return Latency{
		Total: last.Sub(start).Seconds(),
		P50:   measure.Percentile(ms, 50), P99: measure.Percentile(ms, 99), Max: measure.Percentile(ms, 100),
	}
}
