#include "base/secrets.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace sonde::base {
namespace {

TEST(SecretsTest, NamesOfOptionsAndVariables) {
  for (const char* name :
       {"--api-key",   "password",           "token",          "HF_TOKEN",
        "DB_PWD",      "GITHUB_PAT",         "SESSION_COOKIE", "AWS_SECRET_ACCESS_KEY",
        "--hf-token",  "OPENAI_API_KEY",     "SSH_KEY",        "MYSQL_PASS",
        "GITHUBTOKEN", "http_authorization", "my.credentials", "dbpwd",
        "sshpass",     "--authkey",          "HF_TOKEN_2",     "GITHUB_TOKEN_PROD",
        "API_TOKENS",  "SLACK_WEBHOOK_URL",  "AccountKey"}) {
    EXPECT_TRUE(IsSecretName(name)) << name;
  }
  for (const char* name :
       {"PWD", "OLDPWD", "PATH", "PYTHONPATH", "--max-num-batched-tokens", "--pad-token",
        "eos_token", "--tokenizer", "KEYBOARD", "--model", "max_tokens", "COMPASS", "PATTERN",
        "bypass", "monkey", "pad_token_2", "num_key_value_heads", "key", ""}) {
    EXPECT_FALSE(IsSecretName(name)) << name;
  }
}

TEST(SecretsTest, AddressesAndTexts) {
  EXPECT_EQ(MaskedText("redis://user:pa55@host:6379/0"), "redis://***@host:6379/0");
  EXPECT_EQ(MaskedText("git clone https://ghp_x@github.com/a/b"),
            "git clone https://***@github.com/a/b");
  EXPECT_EQ(MaskedText("http://host/a@b"), "http://host/a@b");
  EXPECT_EQ(MaskedText("https://h/p?user=a&sig=abc&x=1"), "https://h/p?user=a&sig=***&x=1");
  EXPECT_EQ(MaskedText(R"({"api_key": "k1", "model": "m"})"),
            R"({"api_key": "***", "model": "m"})");
  EXPECT_EQ(MaskedText("Bearer abc.def"), "Bearer ***");
  EXPECT_EQ(MaskedText("x hf_abcdefghijklmnopq y"), "x *** y");
  EXPECT_EQ(MaskedText("--pad-token=<pad> --lr=1e-3"), "--pad-token=<pad> --lr=1e-3");
  EXPECT_EQ(MaskedText(""), "");
  EXPECT_EQ(MaskedText(R"({"password": "a,b;c", "x": 1})"), R"({"password": "***", "x": 1})");
  EXPECT_EQ(MaskedText(R"({\"password\": \"a,b\", \"x\": 1})"),
            R"({\"password\": \"***\", \"x\": 1})");
  EXPECT_EQ(MaskedText(R"({"password": "", "x": "y", "token":""})"),
            R"({"password": "", "x": "y", "token":""})");
  EXPECT_EQ(MaskedText("Cookie: a=b; c=d"), "Cookie: ***");
  EXPECT_EQ(MaskedText("Server=x;Uid=y;Pwd=z;"), "Server=x;Uid=y;Pwd=***;");
  EXPECT_EQ(MaskedText("PWD=/home/me"), "PWD=/home/me");
  EXPECT_EQ(MaskedText("admin:pa55@host:80 git@host:a/b r:1@sha256:0"),
            "***@host:80 git@host:a/b r:1@sha256:0");
  EXPECT_EQ(MaskedText("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----"),
            "a ***-----END RSA PRIVATE KEY-----");
}

TEST(SecretsTest, CommandLines) {
  EXPECT_EQ(MaskedCommandLine("vllm serve m --api-key k1 --port 80", ' '),
            "vllm serve m --api-key *** --port 80");
  EXPECT_EQ(MaskedCommandLine("p --password=x --token y URL=s://a:b@c", ' '),
            "p --password=*** --token *** URL=s://***@c");
  EXPECT_EQ(MaskedCommandLine(std::string_view("a\0--db-pwd\0z\0--no-auth\0-v\0", 26), '\0'),
            std::string("a\0--db-pwd\0***\0--no-auth\0-v\0", 28));
}

TEST(SecretsTest, ValuesEndWithTheirWord) {
  EXPECT_EQ(MaskedCommandLine("p --password=a,b&c;d A_TOKEN=x;y --pwd z --lr=1", ' '),
            "p --password=*** A_TOKEN=*** --pwd *** --lr=1");
  EXPECT_EQ(MaskedCommandLine("curl -u me:pw -u 1000:1000 -u you h", ' '),
            "curl -u *** -u 1000:1000 -u you h");
  EXPECT_EQ(MaskedCommandLine("PWD=/home/me x", ' '), "PWD=/home/me x");
}

TEST(SecretsTest, Values) {
  EXPECT_EQ(MaskedValue("DATABASE_URL", "postgres://u:p@h/d"), "postgres://***@h/d");
  EXPECT_EQ(MaskedValue("HF_TOKEN", "x"), "***");
  EXPECT_EQ(MaskedValue("HF_TOKEN", ""), "");
  EXPECT_EQ(MaskedValue("PWD", "/home/me"), "/home/me");
}

}  // namespace
}  // namespace sonde::base
