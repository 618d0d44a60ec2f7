"""The functions of docs/guides/verify-webhooks.md accept its test vector, and reject changed vectors."""

import json
import shutil
import subprocess

import pytest

from tests.documents import blocks, page

PAGE = blocks(page("guides/verify-webhooks.md"))
CODE = {block.language: block.code for block in PAGE}
VECTOR = json.loads(CODE["json"])
NOW = 1_767_225_600
ARGUMENTS = ("secret", "webhook-id", "webhook-timestamp", "webhook-signature", "body")

# Each program reads a delivery and the time from its arguments, and prints `true` or `false`. PROGRAMS has, for each
# language, the files, the build command, and the run command.
PYTHON_MAIN = """
import sys
secret, *headers, body, now = sys.argv[1:]
names = ("webhook-id", "webhook-timestamp", "webhook-signature")
print(str(is_valid(secret, dict(zip(names, headers)), body.encode(), int(now))).lower())
"""
NODE_MAIN = """
const [secret, id, timestamp, signature, body, now] = process.argv.slice(2);
const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
console.log(isValid(secret, headers, Buffer.from(body), Number(now)));
"""
GO_MAIN = """package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	headers := http.Header{}
	for number, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		headers.Set(name, os.Args[number+2])
	}
	now, _ := strconv.ParseInt(os.Args[6], 10, 64)
	fmt.Println(IsValid(os.Args[1], headers, []byte(os.Args[5]), time.Unix(now, 0)))
}
"""
JAVA_MAIN = """import java.util.Map;

class Main {
    public static void main(String[] a) throws Exception {
        var headers = Map.of("webhook-id", a[1], "webhook-timestamp", a[2], "webhook-signature", a[3]);
        System.out.println(Webhook.isValid(a[0], headers, a[4].getBytes("UTF-8"), Long.parseLong(a[5])));
    }
}
"""
PHP_MAIN = """
$names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
$headers = array_combine($names, array_slice($argv, 2, 3));
echo is_valid($argv[1], $headers, $argv[5], (int) $argv[6]) ? 'true' : 'false';
"""
PROGRAMS = {
    "python": ({"main.py": CODE["python"] + PYTHON_MAIN}, None, ["python3", "main.py"]),
    "javascript": ({"main.mjs": CODE["javascript"] + NODE_MAIN}, None, ["node", "main.mjs"]),
    "go": ({"webhook.go": CODE["go"], "main.go": GO_MAIN}, ["go", "build", "-o", "main", "webhook.go", "main.go"],
           ["./main"]),
    "java": ({"Webhook.java": CODE["java"], "Main.java": JAVA_MAIN}, ["javac", "Webhook.java", "Main.java"],
             ["java", "-cp", ".", "Main"]),
    "php": ({"main.php": CODE["php"] + PHP_MAIN}, None, ["php", "main.php"]),
}  # fmt: skip


def is_accepted(run, folder, now=NOW, **changes):
    delivery = {"secret": VECTOR["secret"], **VECTOR["headers"], "body": VECTOR["body"], **changes}
    arguments = [*(delivery[name] for name in ARGUMENTS), str(now)]
    printed = subprocess.run([*run, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout
    return {"true": True, "false": False}[printed.strip()]


@pytest.mark.parametrize("language", PROGRAMS)
def test_published_webhook_verification_function_accepts_its_test_vector_and_rejects_changes(language, tmp_path):
    files, build, run = PROGRAMS[language]
    if shutil.which((build or run)[0]) is None:
        pytest.skip(f"needs {(build or run)[0]}")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    if build:
        subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=True)
    signature = VECTOR["headers"]["webhook-signature"]
    assert is_accepted(run, tmp_path)
    assert is_accepted(run, tmp_path, now=NOW + 300, **{"webhook-signature": f"v1,AAAA {signature}"})
    assert not is_accepted(run, tmp_path, now=NOW + 301)
    assert not is_accepted(run, tmp_path, now=NOW - 301)
    assert not is_accepted(run, tmp_path, secret=VECTOR["secret"].replace("AAEC", "BBEC"))
    assert not is_accepted(run, tmp_path, body=VECTOR["body"] + " ")
    for name, value in (("webhook-id", "another"), ("webhook-timestamp", str(NOW - 1)), ("webhook-timestamp", "soon"),
                        ("webhook-signature", ""), ("webhook-signature", signature[3:])):  # fmt: skip
        assert not is_accepted(run, tmp_path, **{name: value}), (name, value)


def test_openssl_computes_the_digest_in_the_webhook_guide():
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    printed = subprocess.run(["bash", "-euc", CODE["sh"]], capture_output=True, text=True, check=True).stdout
    assert f"ends with `{printed.split()[-1]}`" in page("guides/verify-webhooks.md")
