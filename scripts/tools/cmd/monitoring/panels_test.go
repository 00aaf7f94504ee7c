package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// prometheus answers every query over a time with two samples, of which one is not a number, and every other with these.
func prometheusThatSays(t *testing.T, instant string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		data := `{"resultType": "vector", "result": [` + instant + `]}`
		if strings.HasSuffix(request.URL.Path, "/query_range") {
			data = `{"resultType": "matrix", "result": [{"metric": {"name": "orders"}, "values": [[60, "1.5"], [61, "NaN"]]}]}`
		}
		fmt.Fprintf(answer, `{"status": "success", "data": %s}`, data)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestPanelsShowWhatPrometheusAnswers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.json")
	url := prometheusThatSays(t, `{"metric": {}, "value": [60, "3"]}`)
	if err := askPanels(rendered(t, "", ""), asked{url: url, data: data, minutes: 15}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	var shown map[string][]Shown
	if err := json.Unmarshal(text, &shown); err != nil {
		t.Fatal(err)
	}
	panels := shown["manager.json"]
	wanted := []Line{{Name: "orders", Points: [][2]float64{{60, 1.5}}}}
	if len(panels) != 2 || !reflect.DeepEqual(panels[0].Series, wanted) || panels[1].Series[0].Points[0][1] != 3 {
		t.Errorf("%s", text)
	}
}

func TestAPanelWithoutDataIsAFindingUnlessItIsExcused(t *testing.T) {
	url := prometheusThatSays(t, "")
	excused := func(text string) error {
		return askPanels(rendered(t, "", ""), asked{url: url, minutes: 15, excused: put(t, filepath.Join(t.TempDir(), "excused"), text)})
	}
	for text, right := range map[string]bool{
		"":                                       false,
		"Manager / Ready: nothing is scraped":    true,
		"# a remark\n\nManager / Ready: too few": false,
		"Manager / Ready: nothing is scraped\nManager / Gone: nobody knows it any more": false,
	} {
		if err := excused(text); (err == nil) != right {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAPrometheusThatIsNotThereIsAFinding(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if err := askPanels(rendered(t, "", ""), asked{url: server.URL, minutes: 15}); err == nil {
		t.Error("it was asked")
	}
}
