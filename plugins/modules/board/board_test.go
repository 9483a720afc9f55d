package board

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

const mit = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software\nto deal in the Software without\nrestriction, ..."

func board(files fstest.MapFS) *Board {
	b := &Board{Roots: []Root{{"app", files}}, Caches: map[string]fs.FS{}}
	b.Scan()
	return b
}

func goMod(requirement string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("module example.com/app\nrequire " + requirement + "\n")}
}

func TestManifestsAreFoundButNotThoseOfWhatIsInstalled(t *testing.T) {
	b := board(fstest.MapFS{
		"go.mod":                    goMod("a.org/b v1.0.0"),
		"tools/go.mod":              goMod("a.org/b v1.2.0"),
		"vendor/x/go.mod":           goMod("x.org/y v1.0.0"),
		"web/node_modules/p/go.mod": goMod("x.org/y v1.0.0"),
		".git/go.mod":               goMod("x.org/y v1.0.0"),
		"web/package-lock.json":     {Data: []byte("no JSON")},
		"web/src/package.json":      {Data: []byte("{}")},
	})
	if got := b.Paths(); !slices.Equal(got, []string{"app/go.mod", "app/tools/go.mod", "app/web/package-lock.json"}) {
		t.Error(got)
	}
	view := b.Overview()
	if len(view.Twice) != 1 || view.Twice[0].Differ != "minor" || !view.Twice[0].OneWouldDo {
		t.Errorf("%+v", view.Twice)
	}
	if view.Manifests[2].Error == "" || view.Manifests[0].Direct != 1 {
		t.Errorf("%+v", view.Manifests)
	}
	if _, _, err := b.Sheet("app/web/package-lock.json"); err == nil {
		t.Error("it is no JSON")
	}
	uses := b.Module("go", "a.org/b")
	if len(uses) != 2 || uses[0].BehindNewest != "minor" || uses[1].BehindNewest != "same" {
		t.Errorf("%+v", uses)
	}
}

func TestLicencesAreFoundInVendorAndInTheCache(t *testing.T) {
	files := fstest.MapFS{
		"go.mod":                 {Data: []byte("module m\nrequire (\n a.org/b v1.0.0\n c.org/Big v1.0.0\n d.org/e v1.0.0\n)\n")},
		"vendor/a.org/b/LICENSE": {Data: []byte(mit)},
	}
	b := board(files)
	b.Caches["go"] = fstest.MapFS{"c.org/!big@v1.0.0/LICENSE.txt": {Data: []byte("Apache License\n Version 2.0, January 2004")}}
	sheet, ok, err := b.Sheet("app/go.mod")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if sheet.Licences["MIT"] != 1 || sheet.Licences["Apache-2.0"] != 1 || sheet.Licences["unknown"] != 1 {
		t.Errorf("%+v", sheet.Licences)
	}
}

func TestAScanTellsWhatChanged(t *testing.T) {
	files := fstest.MapFS{"go.mod": goMod("a.org/b v1.0.0"), "tools/go.mod": goMod("a.org/b v1.0.0")}
	b := board(files)
	if changed, listed := b.Scan(); len(changed) != 0 || listed {
		t.Error(changed, listed)
	}
	files["go.mod"] = goMod("a.org/b v1.0.1")
	if changed, listed := b.Scan(); !slices.Equal(changed, []string{"app/go.mod"}) || listed {
		t.Error(changed, listed)
	}
	delete(files, "tools/go.mod")
	if changed, listed := b.Scan(); !slices.Equal(changed, []string{"app/tools/go.mod"}) || !listed {
		t.Error(changed, listed)
	}
}
