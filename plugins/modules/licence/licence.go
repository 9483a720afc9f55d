// Package licence recognises the licences that most packages have, by words that no other of them has.
package licence

import (
	"io/fs"
	"path"
	"strings"
)

// The first whose words are all there; what contains the words of another comes before that.
var known = []struct {
	spdx  string
	words []string
}{
	{"AGPL-3.0", []string{"gnu affero general public license", "version 3"}},
	{"LGPL-3.0", []string{"gnu lesser general public license", "version 3"}},
	{"LGPL-2.1", []string{"gnu lesser general public license", "version 2.1"}},
	{"GPL-3.0", []string{"gnu general public license", "version 3"}},
	{"GPL-2.0", []string{"gnu general public license", "version 2"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"MPL-2.0", []string{"mozilla public license", "2.0"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose with or without fee"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "without restriction"}},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}},
	{"CC0-1.0", []string{"cc0 1.0 universal"}},
	{"Zlib", []string{"altered source versions must be plainly marked as such"}},
}

// Identify is the SPDX identifier of a licence text, "" if it is none of the known.
func Identify(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, licence := range known {
		there := true
		for _, word := range licence.words {
			there = there && strings.Contains(text, word)
		}
		if there {
			return licence.spdx
		}
	}
	return ""
}

// A licence text is longer than this only if it is many.
const most = 256 << 10

// In looks at what a folder says of its licence, in a Cargo.toml or in licence files: "" if the folder is not there or has none that is known.
func In(files fs.FS, folder string) string {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return ""
	}
	if manifest, err := fs.ReadFile(files, path.Join(folder, "Cargo.toml")); err == nil {
		if _, after, ok := strings.Cut(string(manifest), "\nlicense = \""); ok {
			declared, _, _ := strings.Cut(after, `"`)
			return declared
		}
	}
	var found []string
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		if entry.IsDir() || !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") && !strings.HasPrefix(name, "unlicense") {
			continue
		}
		if info, err := entry.Info(); err != nil || info.Size() > most {
			continue
		}
		text, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			continue
		}
		if spdx := Identify(string(text)); spdx != "" && !strings.Contains(strings.Join(found, " "), spdx) {
			found = append(found, spdx)
		}
	}
	// Which of them one may choose, the texts do not say.
	return strings.Join(found, ", ")
}
