// Command release-images makes of the images of scripts/images what a registry is given: one index a name, with an image for
// each architecture. And it pushes that, byte for byte: so an image's digest is known before anybody may push it, and
// what names it by its digest can be made, looked at and signed together with it.
//
//	release-images index --output TAR --name NAME [--label NAME=VALUE]... ARCHITECTURE=TAR...   prints the digest
//	release-images may-push NAME        fails unless the registry would take it
//	release-images exists NAME...       prints those that the registry does not have
//	release-images push TAR NAME        prints the digest that the registry then has
//	release-images take TAR ARCHITECTURE NAME DIR   writes the image as DIR/image.tar by another name, and the programs
//	                                    in its root directory next to it; prints the image's digest
//
// Credentials are those of `docker login` or `podman login`.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: release-images index | may-push | exists | push | take (see main.go)")
	}
	arguments := os.Args[2:]
	var err error
	switch os.Args[1] {
	case "index":
		err = indexCommand(arguments)
	case "may-push":
		err = mayPush(arguments[0])
	case "exists":
		err = missing(arguments)
	case "push":
		if len(arguments) != 2 {
			log.Fatal("usage: release-images push TAR NAME")
		}
		var digest string
		if digest, err = push(arguments[0], arguments[1]); err == nil {
			fmt.Println(digest)
		}
	case "take":
		if len(arguments) != 4 {
			log.Fatal("usage: release-images take TAR ARCHITECTURE NAME DIR")
		}
		var digest string
		if digest, err = take(arguments[0], arguments[1], arguments[2], arguments[3]); err == nil {
			fmt.Println(digest)
		}
	default:
		log.Fatalf("release-images %s: there is no such command", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func indexCommand(arguments []string) error {
	var output, name string
	labels, images := map[string]string{}, []source{}
	for len(arguments) > 0 {
		word := arguments[0]
		arguments = arguments[1:]
		if strings.HasPrefix(word, "--") {
			if len(arguments) == 0 {
				return fmt.Errorf("%s needs a value", word)
			}
			value := arguments[0]
			arguments = arguments[1:]
			switch word {
			case "--output":
				output = value
			case "--name":
				name = value
			case "--label":
				key, text, _ := strings.Cut(value, "=")
				labels[key] = text
			default:
				return fmt.Errorf("%s: there is no such option", word)
			}
			continue
		}
		architecture, file, found := strings.Cut(word, "=")
		if !found {
			return fmt.Errorf("%s: want ARCHITECTURE=TAR", word)
		}
		images = append(images, source{architecture, file})
	}
	if output == "" || name == "" || len(images) == 0 {
		return fmt.Errorf("needed: --output, --name and at least one ARCHITECTURE=TAR")
	}
	digest, err := writeIndex(output, name, labels, images)
	if err == nil {
		fmt.Println(digest)
	}
	return err
}
