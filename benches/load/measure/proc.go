package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process is what the kernel says of one process. Memory is in MiB.
type Process struct {
	CPUSeconds float64 `json:"cpu_s"`
	RSS        float64 `json:"rss_mib"`
	RSSAnon    float64 `json:"rss_anon_mib"`
	RSSFile    float64 `json:"rss_file_mib"`
	RSSPeak    float64 `json:"rss_peak_mib"`
	Threads    float64 `json:"threads"`
}

// userHertz is the unit of times in /proc on every Linux that Go and Kubernetes run on.
const userHertz = 100

// Proc reads /proc of a process.
func Proc(pid int) (Process, error) {
	var p Process
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	// The name, in parentheses, may hold blanks. After it: state is field 3, utime 14, stime 15.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return p, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	for _, ticks := range fields[11:13] {
		n, err := strconv.ParseFloat(ticks, 64)
		if err != nil {
			return p, err
		}
		p.CPUSeconds += n / userHertz
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return p, err
	}
	into := map[string]*float64{"VmRSS": &p.RSS, "RssAnon": &p.RSSAnon, "RssFile": &p.RSSFile, "VmHWM": &p.RSSPeak, "Threads": &p.Threads}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		target := into[name]
		words := strings.Fields(value)
		if target == nil || len(words) == 0 {
			continue
		}
		n, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			return p, err
		}
		if len(words) == 2 {
			n /= 1024 // kB
		}
		*target = n
	}
	return p, nil
}
