//! Programs that a system has, and what else their names mean.

use super::windows_commands::WINDOWS;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::word::{Argument, Dialect};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Nobody uses the name but for the program.
    Program,
    /// A thing that people talk about: languages, tools.
    Noun,
    /// A word of everyday language.
    Everyday {
        /// Whether attackers run it without arguments.
        runs_alone: bool,
        /// Words that make a call of it, as options do of any.
        verbs: &'static [&'static str],
    },
    /// Tells programs by their first argument.
    Verbs(&'static [&'static str]),
    /// Prints or waits: with any word or number.
    Probe,
}

impl Class {
    /// Whether this argument makes a call of the name.
    pub(super) fn is_called_with(self, argument: &Argument) -> bool {
        match self {
            Self::Verbs(verbs) | Self::Everyday { verbs, .. } => {
                verbs.iter().any(|verb| argument.text.as_slice() == verb.as_bytes())
            }
            Self::Probe => argument.is_number || !argument.text.is_empty(),
            Self::Program => argument.is_number,
            Self::Noun => false,
        }
    }
}

/// Programs that only change what a pipe gives them.
const FILTERS: &[&str] = &[
    "awk", "cat", "column", "comm", "cut", "egrep", "fgrep", "fold", "gawk", "grep", "head", "join", "jq",
    "less", "more", "nl", "paste", "pr", "sed", "sort", "tail", "tee", "tr", "uniq", "wc", "xargs", "zless",
    "zmore",
];

/// What people build and run their own programs with, and move their own files.
const BUILDERS: &[&str] = &[
    "apt",
    "apt-get",
    "aptitude",
    "basename",
    "brew",
    "bundle",
    "cargo",
    "cd",
    "chmod",
    "chown",
    "cmake",
    "composer",
    "cp",
    "date",
    "diff",
    "docker",
    "docker-compose",
    "du",
    "df",
    "echo",
    "exit",
    "export",
    "gcc",
    "gem",
    "git",
    "go",
    "gradle",
    "gunzip",
    "gzip",
    "helm",
    "install",
    "kubectl",
    "ln",
    "make",
    "man",
    "history",
    "which",
    "mkdir",
    "mv",
    "mvn",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pipx",
    "pnpm",
    "printf",
    "pwd",
    "read",
    "rm",
    "rmdir",
    "set",
    "source",
    "tar",
    "terraform",
    "test",
    "time",
    "touch",
    "trap",
    "unset",
    "unzip",
    "yarn",
    "yum",
    "zip",
    "hostname",
    "md5sum",
    "sha256sum",
    "tmux",
    "screen",
    "journalctl",
    "find",
    "ls",
    "free",
    "lsof",
    "netstat",
    "ps",
    "ss",
    "uname",
    "uptime",
];

/// Programs that run the program they are given: one that is there already, if nothing else is.
const INTERPRETERS: &[&str] = &[
    "ansible-playbook",
    "bash",
    "java",
    "node",
    "perl",
    "php",
    "python",
    "python3",
    "ruby",
    "sh",
    "systemctl",
];

/// What a line of a script begins with, beside the name of a program.
const KEYWORDS: &[&str] = &[
    "case", "do", "done", "elif", "else", "fi", "for", "function", "if", "local", "return", "then", "until",
    "while",
];

pub(super) fn is_filter(name: &[u8]) -> bool {
    FILTERS.iter().any(|filter| filter.as_bytes() == name)
}

/// Whether a script may go on with this program and argument whatever it is for.
pub(super) fn is_harmless(name: &[u8], argument: &Argument) -> bool {
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
    let is_option = argument.text.first() == Some(&b'-');
    !argument.has_private_path
        && (is_one_of(BUILDERS)
            || is_filter(name) && !argument.has_path
            || is_one_of(INTERPRETERS) && !argument.has_path && !is_option)
}

pub(super) fn is_keyword(name: &[u8]) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.as_bytes() == name)
}

pub(super) const RUNS_ALONE: Class = Class::Everyday { runs_alone: true, verbs: &[] };
pub(super) const EVERYDAY: Class = Class::Everyday { runs_alone: false, verbs: &[] };

/// What the name of a program is.
pub(super) fn class(name: &[u8], dialect: Dialect) -> Option<Class> {
    let mut lower = [0; 24];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let name = std::str::from_utf8(lower).ok()?;
    let classes = match dialect {
        Dialect::Unix => &*UNIX_CLASSES,
        Dialect::Windows => &*WINDOWS_CLASSES,
    };
    classes.get(name).copied()
}

/// Fixed, because nobody adds names to them.
type Classes = HashMap<&'static str, Class, foldhash::fast::FixedState>;

static UNIX_CLASSES: LazyLock<Classes> = LazyLock::new(|| classes(UNIX));
static WINDOWS_CLASSES: LazyLock<Classes> = LazyLock::new(|| classes(WINDOWS));

/// Of a name that stands in two groups, the first counts.
fn classes(groups: &[(&[&'static str], Class)]) -> Classes {
    let mut classes = Classes::default();
    for (names, class) in groups {
        for name in *names {
            classes.entry(*name).or_insert(*class);
        }
    }
    classes
}

const UNIX: &[(&[&str], Class)] = &[
    (
        &[
            "whoami",
            "uname",
            "ifconfig",
            "netstat",
            "wget",
            "curl",
            "nslookup",
            "busybox",
            "nc",
            "ncat",
            "netcat",
            "socat",
            "telnet",
            "scp",
            "rsync",
            "tftp",
            "chmod",
            "chown",
            "chgrp",
            "useradd",
            "usermod",
            "adduser",
            "crontab",
            "systemctl",
            "mkfifo",
            "mknod",
            "xxd",
            "hexdump",
            "zcat",
            "tac",
            "gawk",
            "egrep",
            "fgrep",
            "xargs",
            "rmdir",
            "rm",
            "ls",
            "pwd",
            "lsof",
            "printenv",
            "getent",
            "iptables",
            "sysctl",
            "umount",
            "dmesg",
            "lscpu",
            "lsblk",
            "traceroute",
            "setsid",
            "strace",
            "pgrep",
            "pkill",
            "killall",
            "dpkg",
            "apt-get",
            "ssh-keygen",
            "setarch",
            "mkdir",
            "hostnamectl",
            "ip6tables",
            "ash",
            "zsh",
            "ksh",
            "csh",
            "tcsh",
            "fping",
            "ss",
            "lynx",
            "sha256sum",
            "md5sum",
            "vdir",
            "dir",
            "getcap",
            "arp",
            "insmod",
            "ansible",
            "ansible-config",
            "ansible-console",
            "ansible-doc",
            "ansible-galaxy",
            "ansible-inventory",
            "ansible-playbook",
            "ansible-pull",
            "ansible-vault",
            "chef-client",
            "chef-run",
            "chef-shell",
            "chef-vault",
            "cscli",
            "visudo",
            "base32",
            "cpulimit",
            "flock",
            "ionice",
            "ssh-copy-id",
            "lwp-download",
            "lwp-request",
            "zstdcat",
            "xzcat",
            "bzcat",
            "gunzip",
            "unxz",
            "aptitude",
            "pipx",
            "timedatectl",
            "journalctl",
            "uniq",
            "nmap",
            "tcpdump",
            "sftp",
            "smbclient",
            "sshpass",
            "w3m",
            "aria2c",
            "podman",
            "crictl",
            "dnf",
            "zypper",
            "nmcli",
            "loginctl",
            "chpasswd",
            "gpasswd",
            "groupadd",
            "userdel",
            "deluser",
            "chattr",
            "lsattr",
            "setfacl",
            "getfacl",
            "rbash",
            "tclsh",
            "ltrace",
            "uudecode",
            "uuencode",
            "showmount",
            "fdisk",
            "lsmod",
            "modprobe",
            "ethtool",
            "stdbuf",
            "readlink",
            "realpath",
            "dirname",
            "ldd",
            "usleep",
            "vmstat",
            "htop",
            "stty",
            "mkfs",
            "umask",
            "ulimit",
            "jq",
            "busctl",
            "lspci",
            "lsusb",
            "mktemp",
            "chroot",
            "unshare",
            "nsenter",
            "runuser",
            "doas",
            "pkexec",
            "xclip",
            "ncdu",
        ],
        Class::Program,
    ),
    (
        &[
            "bash", "sh", "dash", "fish", "python", "python2", "python3", "perl", "ruby", "php", "lua",
            "node", "nodejs", "java", "gcc", "make", "docker", "kubectl", "vim", "vi", "nano", "emacs",
            "ssh", "ftp", "tar", "gzip", "unzip", "zip", "openssl", "git", "npm", "awk", "sed", "grep",
            "base64", "mysql", "psql", "sqlite3", "apt", "yum", "gdb", "screen", "tmux", "tee", "dd", "cp",
            "mv", "ln", "od", "nl", "rev", "tr", "pip", "gem", "irb", "cpan", "perf", "nohup", "c89", "c99",
            "bsdtar",
        ],
        Class::Noun,
    ),
    (&["echo", "printf", "sleep", "ping", "ping6", "dig"], Class::Probe),
    (
        &["service"],
        Class::Verbs(&["--status-all", "ssh", "sshd", "apache2", "httpd", "nginx", "mysql", "cron"]),
    ),
    (&["aws"], Class::Verbs(&["s3", "ec2", "iam", "sts", "lambda", "configure", "ssm", "secretsmanager"])),
    (&["shutdown"], Class::Everyday { runs_alone: false, verbs: &["now"] }),
    (&["init"], Class::Verbs(&["0", "1", "6"])),
    (&["find"], Class::Everyday { runs_alone: false, verbs: &["."] }),
    (&["id", "env", "ps", "uptime"], RUNS_ALONE),
    // Passwords hold one letter behind a sign.
    (&["w"], EVERYDAY),
    (
        &[
            "cat", "sort", "more", "less", "who", "head", "tail", "date", "test", "host", "at", "cut",
            "split", "kill", "which", "last", "man", "wall", "yes", "users", "touch", "set", "top",
            "history", "export", "eval", "source", "read", "nice", "look", "watch", "file", "stat", "alias",
            "join", "diff", "free", "jobs", "type", "trap", "reboot", "halt", "poweroff", "expr", "mount",
            "route", "passwd", "strings", "paste", "fold", "hostname", "locate", "finger", "mail", "su",
            "cd", "exit", "df", "du", "ed", "lp", "column", "pr", "basename", "unset", "crash", "ip",
            "install", "link", "chef", "time", "bridge", "comm", "sudo", "command", "builtin", "exec",
            "timeout", "seq", "script", "expect", "groups",
        ],
        EVERYDAY,
    ),
];
