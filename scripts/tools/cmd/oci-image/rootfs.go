package main

import (
	"archive/tar"
	"io"
	"os"
	"strings"
	"time"
)

// copyRootfs keeps owners, modes, links and attributes, and drops times. Device nodes stay out: the runtime makes its own.
func copyRootfs(to io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	reader, writer := tar.NewReader(file), tar.NewWriter(to)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return writer.Close()
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeChar || header.Typeflag == tar.TypeBlock {
			continue
		}
		if err := writer.WriteHeader(withoutTimes(header)); err != nil {
			return err
		}
		if _, err := io.Copy(writer, reader); err != nil {
			return err
		}
	}
}

func withoutTimes(header *tar.Header) *tar.Header {
	clean := *header
	clean.ModTime, clean.AccessTime, clean.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
	clean.Uname, clean.Gname, clean.Format = "", "", tar.FormatPAX
	clean.PAXRecords = map[string]string{}
	for key, value := range header.PAXRecords {
		if strings.HasPrefix(key, "SCHILY.xattr.") {
			clean.PAXRecords[key] = value
		}
	}
	return &clean
}
