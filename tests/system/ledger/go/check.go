// Verifies checkpoints, cosignatures, and proofs of the ledger with the packages of Go's checksum database:
// golang.org/x/mod/sumdb/note and golang.org/x/mod/sumdb/tlog. It reads JSON from standard input, and prints only errors.
package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type input struct {
	LogKey      string
	WitnessKeys []string
	Notes       []string // cosigned checkpoints, oldest first
	Consistency [][]string
	Entry       string
	Index       int64
	Path        []string
}

// witness verifies a cosignature/v1, which the package does not support.
type witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (w witness) Name() string    { return w.name }
func (w witness) KeyHash() uint32 { return w.hash }

func (w witness) Verify(text, signature []byte) bool {
	if len(signature) != 72 {
		return false
	}
	time := binary.BigEndian.Uint64(signature)
	message := append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), text...)
	return ed25519.Verify(w.key, message, signature[8:])
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func witnessOf(vkey string) witness {
	parts := strings.SplitN(vkey, "+", 3)
	hash, err := strconv.ParseUint(parts[1], 16, 32)
	must(err)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	must(err)
	if raw[0] != 4 || len(raw) != 33 {
		must(fmt.Errorf("not the key of a witness: %s", vkey))
	}
	return witness{parts[0], uint32(hash), ed25519.PublicKey(raw[1:])}
}

func hashes(texts []string) (result []tlog.Hash) {
	for _, text := range texts {
		hash, err := tlog.ParseHash(text)
		must(err)
		result = append(result, hash)
	}
	return result
}

// treeOf parses a checkpoint's text. tlog.ParseTree accepts only the first line of Go's own database.
func treeOf(text string) tlog.Tree {
	lines := strings.Split(text, "\n")
	own := strings.Join(append([]string{"go.sum database tree"}, lines[1:]...), "\n")
	tree, err := tlog.ParseTree([]byte(own))
	must(err)
	return tree
}

func main() {
	var data input
	must(json.NewDecoder(os.Stdin).Decode(&data))
	logKey, err := note.NewVerifier(data.LogKey)
	must(err)
	verifiers := []note.Verifier{logKey}
	for _, vkey := range data.WitnessKeys {
		verifiers = append(verifiers, witnessOf(vkey))
	}
	var trees []tlog.Tree
	for _, text := range data.Notes {
		opened, err := note.Open([]byte(text), note.VerifierList(verifiers...))
		must(err)
		if len(opened.Sigs) != len(verifiers) || len(opened.UnverifiedSigs) != 0 {
			must(fmt.Errorf("%d signatures verify, %d do not", len(opened.Sigs), len(opened.UnverifiedSigs)))
		}
		// A verifier that trusts only the log must accept a note with cosignatures.
		logOnly, err := note.Open([]byte(text), note.VerifierList(logKey))
		must(err)
		if !bytes.Equal([]byte(logOnly.Text), []byte(opened.Text)) {
			must(fmt.Errorf("the texts of the note differ"))
		}
		trees = append(trees, treeOf(opened.Text))
	}
	for at, proof := range data.Consistency {
		old, next := trees[at], trees[at+1]
		must(tlog.CheckTree(tlog.TreeProof(hashes(proof)), next.N, next.Hash, old.N, old.Hash))
	}
	entry, err := base64.StdEncoding.DecodeString(data.Entry)
	must(err)
	last := trees[len(trees)-1]
	must(tlog.CheckRecord(tlog.RecordProof(hashes(data.Path)), last.N, last.Hash, data.Index, tlog.RecordHash(entry)))
}
