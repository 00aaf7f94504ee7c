package measure

import (
	"strings"
	"testing"
	"time"
)

const log = `
{"auditID":"1","stage":"ResponseStarted","requestURI":"/apis/apps/v1/deployments?watch=true&sendInitialEvents=true","verb":"watch","user":{"username":"ours"},"objectRef":{"resource":"deployments"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z","stageTimestamp":"2026-01-01T00:00:01.000001Z"}
{"auditID":"2","stage":"ResponseStarted","requestURI":"/x?watch=true","verb":"watch","user":{"username":"ours"},"objectRef":{"resource":"myapps"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z","stageTimestamp":"2026-01-01T00:00:01.000001Z"}
{"auditID":"2","stage":"ResponseComplete","requestURI":"/x?watch=true","verb":"watch","user":{"username":"ours"},"objectRef":{"resource":"myapps"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z","stageTimestamp":"2026-01-01T00:00:05.000000Z"}
{"auditID":"3","stage":"ResponseComplete","requestURI":"/x","verb":"patch","user":{"username":"ours"},"objectRef":{"resource":"myapps","subresource":"status","namespace":"a"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z","stageTimestamp":"2026-01-01T00:00:02.000001Z"}
{"auditID":"4","stage":"ResponseComplete","requestURI":"/x","verb":"create","user":{"username":"ours"},"objectRef":{"resource":"deployments","namespace":"b"},"responseStatus":{"code":403},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z","stageTimestamp":"2026-01-01T00:00:02.000001Z"}
{"auditID":"5","stage":"ResponseComplete","requestURI":"/x","verb":"update","user":{"username":"ours"},"objectRef":{"resource":"leases"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z","stageTimestamp":"2026-01-01T00:00:02.000001Z"}
{"auditID":"6","stage":"ResponseComplete","requestURI":"/x","verb":"update","user":{"username":"yours"},"objectRef":{"resource":"deployments"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z","stageTimestamp":"2026-01-01T00:00:02.000001Z"}
{"auditID":"7","stage":"ResponseComplete","requestURI":"/x","verb":"list","user":{"username":"ours"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.000001Z"}
{"half a line`

func at(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }

func count(t *testing.T, q Query) *Requests {
	t.Helper()
	got, err := audit(strings.NewReader(strings.TrimPrefix(log, "\n")), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCountsOneClientsRequestsOfATime(t *testing.T) {
	got := count(t, Query{User: "ours", Since: at(1)})
	if got.Writes != 2 || got.StatusWrites != 1 || got.LeaseWrites != 1 || got.Lists != 0 || got.Gets != 0 {
		t.Errorf("got %+v", got)
	}
	if got.WatchesOpened != 2 || got.WatchLists != 1 || got.WatchesOpen != 1 || got.Open[0] != "deployments" {
		t.Errorf("watches: %+v", got)
	}
	if got.ByVerb["patch myapps/status"] != 1 || got.Failed["403 create deployments"] != 1 {
		t.Errorf("by verb: %+v", got)
	}
}

func TestWatchesOpenCountWhateverTheBeginning(t *testing.T) {
	got := count(t, Query{User: "ours", Since: at(3), Until: at(4)})
	if got.Writes != 0 || got.WatchesOpened != 0 || got.WatchesOpen != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestOneNamespace(t *testing.T) {
	if got := count(t, Query{User: "ours", Namespace: "b"}); got.Total() != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestPercentiles(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	if Percentile(values, 50) != 3 || Percentile(values, 99) != 5 || Median([]float64{4, 1, 3, 2}) != 2.5 {
		t.Error("wrong percentile or median")
	}
}
