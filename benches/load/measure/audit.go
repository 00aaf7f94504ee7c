package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Query says whose requests are counted, and of which time.
type Query struct {
	User      string // exactly this user
	Agent     string // user agents that contain this
	Namespace string // only requests for objects of this namespace
	Since     time.Time
	Until     time.Time // zero: no end
}

// Requests is what one client asked of the API server. Lease and Event writes are counted apart, and so are reviews,
// which are reads that have to be made by POST.
type Requests struct {
	ByVerb        map[string]int `json:"by_verb"` // "patch myapps/status": 12
	Failed        map[string]int `json:"failed"`  // "403 create deployments": 1
	Writes        int            `json:"writes"`
	StatusWrites  int            `json:"status_writes"` // of Writes
	Gets          int            `json:"gets"`
	Lists         int            `json:"lists"`
	WatchesOpened int            `json:"watches_opened"`
	WatchLists    int            `json:"watch_lists"` // of WatchesOpened: those that also bring what exists
	LeaseWrites   int            `json:"lease_writes"`
	EventWrites   int            `json:"event_writes"`
	Other         int            `json:"other"` // discovery, reviews
	// Watches open at the end of the time, whenever they were opened.
	WatchesOpen int      `json:"watches_open"`
	Open        []string `json:"open"`
}

type auditEvent struct {
	AuditID    string    `json:"auditID"`
	Stage      string    `json:"stage"`
	RequestURI string    `json:"requestURI"`
	Verb       string    `json:"verb"`
	UserAgent  string    `json:"userAgent"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	At         time.Time `json:"stageTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Audit counts the requests in an audit log.
func Audit(path string, q Query) (*Requests, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return audit(file, q)
}

func audit(log io.Reader, q Query) (*Requests, error) {
	out := &Requests{ByVerb: map[string]int{}, Failed: map[string]int{}}
	open := map[string]string{}
	needle := []byte(q.User + q.Agent)
	reader := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			break // a line without its end is still being written
		}
		if err != nil {
			return nil, err
		}
		// Decoding is slow, and most lines are other clients'.
		if !bytes.Contains(line, needle) {
			continue
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		if q.User != "" && e.User.Username != q.User || q.Agent != "" && !strings.Contains(e.UserAgent, q.Agent) ||
			!q.Until.IsZero() && e.At.After(q.Until) {
			continue
		}
		if q.Namespace != "" && (e.ObjectRef == nil || e.ObjectRef.Namespace != q.Namespace) {
			continue
		}
		if e.Verb == "watch" {
			switch e.Stage {
			case "ResponseStarted":
				open[e.AuditID] = what(&e)
			default:
				delete(open, e.AuditID)
			}
		}
		if !e.Received.Before(q.Since) {
			out.add(&e)
		}
	}
	out.WatchesOpen = len(open)
	for _, w := range open {
		out.Open = append(out.Open, w)
	}
	slices.Sort(out.Open)
	return out, nil
}

// what is the resource with its subresource, and where.
func what(e *auditEvent) string {
	if e.ObjectRef == nil {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return path
	}
	name := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		name += "/" + e.ObjectRef.Subresource
	}
	return name
}

func (r *Requests) add(e *auditEvent) {
	// A watch is counted when it opens, or when it was refused; everything else when it ends.
	if e.Verb == "watch" && e.Stage != "ResponseStarted" && e.ResponseStatus.Code < 300 || e.Verb != "watch" && e.Stage != "ResponseComplete" {
		return
	}
	name := what(e)
	r.ByVerb[e.Verb+" "+name]++
	if code := e.ResponseStatus.Code; code >= 300 {
		r.Failed[fmt.Sprintf("%d %s %s", code, e.Verb, name)]++
	}
	resource, sub, _ := strings.Cut(name, "/")
	write := slices.Contains([]string{"create", "update", "patch", "apply", "delete", "deletecollection"}, e.Verb)
	switch {
	case e.ObjectRef == nil || strings.HasSuffix(resource, "reviews"):
		r.Other++
	case write && resource == "leases":
		r.LeaseWrites++
	case write && resource == "events":
		r.EventWrites++
	case write:
		r.Writes++
		if sub == "status" {
			r.StatusWrites++
		}
	case e.Verb == "get" && resource != "leases":
		r.Gets++
	case e.Verb == "list":
		r.Lists++
	case e.Verb == "watch":
		r.WatchesOpened++
		if strings.Contains(e.RequestURI, "sendInitialEvents=true") {
			r.WatchLists++
		}
	default:
		r.Other++
	}
}

// Total is everything but leases.
func (r *Requests) Total() int {
	return r.Writes + r.Gets + r.Lists + r.WatchesOpened + r.EventWrites + r.Other
}
