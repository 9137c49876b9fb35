// Git's configuration: what a clone has is data, and git may run what all else says.
#include "lib/attest/git_config.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a setting by which git runs something is told, however it is written") {
  for (const char* setting : {"[core]\n\tsshCommand = ls\n",
                              "[core] fsmonitor=ls\n",
                              "[include]\n\tpath = x\n",
                              "[alias]\n\tst = !ls\n",
                              "[core]\n\thooksPath = x\n",
                              "[core]\n\tgitProxy = ./x\n",
                              "[merge \"x\"]\n\tdriver = ./x %O\n",
                              "[remote \"o\"]\n\turl = ext::sh -c id\n",
                              "[remote \"o\"]\n\turl = \"ext:\":sh\n",
                              "[remote \"o\"]\n\tuploadpack = ./x\n",
                              "[core]\n\talternateRefsCommand = ./x\n",
                              "[uploadpack]\n\tpackObjectsHook = ./x\n",
                              "[core]\n\tfs\\\nmonitor = ./x\n",
                              "[interactive]\n\tdiffFilter = ./x\n",
                              "[submodule \"a\"]\n\tupdate = !./x\n",
                              "[lfs \"customtransfer.x\"]\n\tpath = ./x\n",
                              "[pager]\n\tlog = ./x\n",
                              "[core] ; c\n\tpager = x\n",
                              "[CORE]PAGER=x\n",
                              "[credential]\n\thelper = !x\n",
                              "[filter \"x\\\"][color\"]\nclean = x\n",
                              "[branch \"a\"]\n\tmergeOptions = -s x\n",
                              "[filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f; x\"\n"}) {
    INFO(setting);
    CHECK_FALSE(foreign_git_setting(setting).empty());
  }
  CHECK(foreign_git_setting("[Core]\n\tsshCommand = ls\n") == "core.sshcommand");
}

TEST_CASE("what git, git-lfs and a credential helper write into a clone's configuration is data") {
  for (const char* setting :
       {"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
        "[remote \"origin\"]\n\turl = https://huggingface.co/a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", "[core]\n\tfsmonitor = true\n",
        "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\trequired = true\n",
        "[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://a/info/lfs\"]\n\tlocksverify = true\n",
        "[credential]\n\thelper = store\r\n", "; words\n# words\n\n[user]\n\tname = A \"B\" C # c\n"}) {
    INFO(setting);
    CHECK(foreign_git_setting(setting).empty());
  }
}

TEST_CASE("git's configuration and hooks are known in work trees and submodules") {
  for (const char* name :
       {".git/config", "a/.git/config", ".git/config.worktree", ".git/modules/a/config", ".gitconfig"}) {
    CHECK(is_git_config(name));
  }
  for (const char* name : {"config", "a.git/config", ".git/description"}) CHECK_FALSE(is_git_config(name));
  CHECK(is_git_hook(".git/modules/a/hooks/pre-push"));
  CHECK_FALSE(is_git_hook(".git/hooks/pre-push.sample"));
  CHECK_FALSE(is_git_hook("hooks/pre-push"));
}
