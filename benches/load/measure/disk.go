package measure

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Disk is how long one small appended write takes to be on disk, which bounds how fast etcd can commit.
type Disk struct {
	P50 float64 `json:"fdatasync_p50_ms"`
	P99 float64 `json:"fdatasync_p99_ms"`
}

// Fdatasync writes as etcd's log does: small records at the end of a file, each synced.
func Fdatasync(dir string, times int) (Disk, error) {
	path := filepath.Join(dir, "bench-fdatasync")
	file, err := os.Create(path)
	if err != nil {
		return Disk{}, err
	}
	defer os.Remove(path)
	defer file.Close()
	record := make([]byte, 2048)
	var ms []float64
	for range times {
		start := time.Now()
		if _, err := file.Write(record); err != nil {
			return Disk{}, err
		}
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return Disk{}, err
		}
		ms = append(ms, float64(time.Since(start).Microseconds())/1000)
	}
	return Disk{P50: Percentile(ms, 50), P99: Percentile(ms, 99)}, nil
}
