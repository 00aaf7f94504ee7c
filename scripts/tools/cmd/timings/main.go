// Command timings records how long tests and stages of scripts/test take, reports the slowest, and compares two runs.
package main

import (
	"flag"
	"fmt"
	"os"
)

const usage = `usage: timings COMMAND [OPTIONS]

  tests --suite NAME --output FILE [--running FILE]
                                     reads a test binary's JSON events from stdin, prints a line per test, appends its
                                     seconds to FILE; fails if a test failed or the binary did not run to its end. The
                                     file of --running names the test that has run for the longest
  report --stages FILE --tests FILE --commit ID --output FILE
                                     prints the slowest tests, the stages and the critical path; writes it all as JSON
  compare BEFORE AFTER               what became slower or faster, and which tests appeared or vanished
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var err error
	switch command, arguments := os.Args[1], os.Args[2:]; command {
	case "tests":
		err = tests(arguments)
	case "report":
		err = report(arguments)
	case "compare":
		err = compare(arguments)
	case "-h", "--help", "help":
		fmt.Print(usage)
	default:
		fmt.Fprintf(os.Stderr, "timings: unknown command %q\n%s", command, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "timings:", err)
		os.Exit(1)
	}
}

func tests(arguments []string) error {
	flags := flag.NewFlagSet("tests", flag.ExitOnError)
	suite := flags.String("suite", "", "the name under which the tests are recorded")
	output := flags.String("output", "", "the file to which a JSON line per test is appended")
	running := flags.String("running", "", "a file that names the test which has run for the longest, and since when (seconds of the epoch)")
	flags.Parse(arguments)
	if *suite == "" || *output == "" {
		return fmt.Errorf("tests needs --suite and --output")
	}
	file, err := os.OpenFile(*output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	reader := newReader(*suite, os.Stdout, file)
	if *running != "" {
		reader.oldest = func(line string) { os.WriteFile(*running, []byte(line), 0o644) }
	}
	if err := reader.read(os.Stdin); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return reader.finish()
}

func report(arguments []string) error {
	flags := flag.NewFlagSet("report", flag.ExitOnError)
	stages := flags.String("stages", "", "the stages, a JSON line each")
	testsFile := flags.String("tests", "", "the tests, a JSON line each")
	commit := flags.String("commit", "", "the commit that ran")
	output := flags.String("output", "", "the JSON file to write")
	flags.Parse(arguments)
	run := Run{Commit: *commit}
	if err := readLines(*stages, &run.Stages); err != nil {
		return err
	}
	if err := readLines(*testsFile, &run.Tests); err != nil {
		return err
	}
	run.print(os.Stdout)
	return run.write(*output)
}

func compare(arguments []string) error {
	if len(arguments) != 2 {
		return fmt.Errorf("compare needs two files that scripts/test wrote")
	}
	var runs [2]Run
	for i, name := range arguments {
		if err := runs[i].readFile(name); err != nil {
			return err
		}
	}
	printComparison(os.Stdout, runs[0], runs[1])
	return nil
}
