package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// argocd is Argo CD's own program, which runs the Lua of a ConfigMap argocd-cm on an object in a file.
type argocd struct {
	program, config string
}

func (a argocd) run(arguments ...string) (string, error) {
	arguments = append([]string{"admin", "settings", "resource-overrides"}, arguments...)
	command := exec.Command(a.program, append(arguments, "--argocd-cm-path", a.config)...)
	// Of what an action changes it shows a diff, by a program of one's choice: this one shows all of the outcome.
	command.Env = append(os.Environ(), `KUBECTL_EXTERNAL_DIFF=sh -c 'cat "$1"'`)
	var told, complaints bytes.Buffer
	command.Stdout, command.Stderr = &told, &complaints
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("argocd %s: %w: %s%s", strings.Join(arguments, " "), err, told.String(), complaints.String())
	}
	return told.String(), nil
}

var healthWords = regexp.MustCompile(`(?s)STATUS: (\S*)\nMESSAGE: (.*)\n$`)

func (a argocd) health(file string) (status, message string, err error) {
	told, err := a.run("health", file)
	if err != nil {
		return "", "", err
	}
	words := healthWords.FindStringSubmatch(told)
	if words == nil {
		return "", "", errors.New(strings.TrimSpace(told))
	}
	return words[1], words[2], nil
}

// actions lists the actions of an object.
func (a argocd) actions(file string) (map[string]availability, error) {
	told, err := a.run("list-actions", file)
	if err != nil {
		return nil, err
	}
	_, table, found := strings.Cut(told, "NAME")
	if !found {
		return nil, errors.New(strings.TrimSpace(told))
	}
	actions := map[string]availability{}
	for _, line := range strings.Split(table, "\n")[1:] {
		if words := strings.Fields(line); len(words) == 2 {
			actions[words[0]] = enabled
			if words[1] == "true" {
				actions[words[0]] = disabled
			}
		}
	}
	return actions, nil
}

// runAction returns the object that results, and whether it is a new one.
func (a argocd) runAction(file, action string) (created bool, outcome []byte, err error) {
	told, err := a.run("run-action", file, action)
	if err != nil {
		return false, nil, err
	}
	if _, outcome, found := strings.Cut(told, "Following resource was created:\n"); found {
		return true, []byte(outcome), nil
	}
	if _, outcome, found := strings.Cut(told, "Following fields have been changed:\n\n"); found {
		return false, []byte(outcome), nil
	}
	return false, nil, errors.New(strings.TrimSpace(told))
}
