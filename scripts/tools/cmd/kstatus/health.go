package main

import "fmt"

func testHealth(argo argocd, each testCase) error {
	status, message, err := argo.health(each.file)
	if err != nil {
		return err
	}
	if status != each.Health.Status || message != each.Health.Message {
		return fmt.Errorf("Argo CD reports\n  %s: %s\nand the test wants\n  %s: %s",
			status, message, each.Health.Status, each.Health.Message)
	}
	return nil
}

func testKstatus(each testCase) error {
	result, err := statusOf(each.object)
	if err != nil {
		return err
	}
	if result.Status.String() != each.Kstatus {
		return fmt.Errorf("kstatus is %s, and the test wants %s", result.Status, each.Kstatus)
	}
	return nil
}
