//! What is installed: the Debian package, and the image's steps in a folder of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{Origin, free_port, http_get, wait_for};

const BINARY: &str = env!("CARGO_BIN_EXE_portcullis");

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn deb(out: &Path) -> std::path::PathBuf {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/conf/packages/deb");
    run(Command::new(script)
        .arg(BINARY)
        .arg(out)
        .env("COMPRESSION", "none")
        .env("SOURCE_DATE_EPOCH", "1700000000"));
    std::fs::read_dir(out).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn the_debian_package_has_what_it_needs_and_is_the_same_each_time() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (package, again) = (deb(first.path()), deb(second.path()));
    assert!(std::fs::read(&package).unwrap() == std::fs::read(again).unwrap(), "byte for byte");
    let tree = tempfile::tempdir().unwrap();
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(tree.path()));
    let at = |path: &str| tree.path().join(path);
    for path in [
        "usr/bin/portcullis",
        "lib/systemd/system/portcullis.service",
        "lib/systemd/system/portcullis.socket",
        "etc/portcullis/portcullis.toml",
        "usr/share/man/man1/portcullis-run.1.gz",
        "usr/share/bash-completion/completions/portcullis",
        "usr/share/zsh/vendor-completions/_portcullis",
        "usr/share/fish/vendor_completions.d/portcullis.fish",
        "usr/share/doc/portcullis/copyright",
        "usr/share/doc/portcullis/docs/README.md",
    ] {
        assert!(at(path).is_file(), "{path}");
    }
    // A file with tokens is not for everybody.
    let mode = std::fs::metadata(at("etc/portcullis/portcullis.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let texts = std::fs::read_to_string(at("usr/share/doc/portcullis/THIRD-PARTY.txt")).unwrap();
    assert!(texts.contains("pingora-core 0.9") && texts.contains("Apache License"), "licences of others");
    let bill = std::fs::read(at("usr/share/doc/portcullis/sbom.cdx.json")).unwrap();
    let bill: serde_json::Value = serde_json::from_slice(&bill).unwrap();
    assert!(bill["components"].as_array().unwrap().len() > 200 && bill["bomFormat"] == "CycloneDX");
    let conf = at("etc/portcullis/portcullis.toml");
    run(Command::new(at("usr/bin/portcullis")).arg("check").arg("--conf").arg(conf));
    let control = run(Command::new("dpkg-deb").arg("-e").arg(&package).arg(tree.path().join("control")));
    assert!(control.stderr.is_empty());
    for script in ["postinst", "prerm", "postrm"] {
        run(Command::new("sh").arg("-n").arg(tree.path().join("control").join(script)));
    }
    let conffiles = std::fs::read_to_string(tree.path().join("control/conffiles")).unwrap();
    assert_eq!(conffiles, "/etc/portcullis/portcullis.toml\n");
}

/// The image's last stage in a folder: the binary with the libraries that the base image has, and no more.
fn image(folder: &Path) {
    let copy = |from: &Path, to: &Path| {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    copy(Path::new(BINARY), &folder.join("usr/bin/portcullis"));
    let conf = concat!(env!("CARGO_MANIFEST_DIR"), "/conf/packages/portcullis.toml");
    copy(Path::new(conf), &folder.join("etc/portcullis/portcullis.toml"));
    std::fs::create_dir_all(folder.join("etc/portcullis/sites")).unwrap();
    std::fs::create_dir_all(folder.join("var/lib/portcullis")).unwrap();
    let linked = String::from_utf8(run(Command::new("ldd").arg(BINARY)).stdout).unwrap();
    let mut libraries = Vec::new();
    for path in linked.split_whitespace().filter(|word| word.starts_with('/')) {
        copy(Path::new(path), &folder.join(&path[1..]));
        libraries.push(Path::new(path).file_name().unwrap().to_str().unwrap().to_owned());
    }
    libraries.sort();
    // The base image has these (glibc, libgcc) and no others.
    let known = [
        "ld-linux-x86-64.so.2",
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "libstdc++.so.6",
    ];
    assert!(libraries.iter().all(|library| known.contains(&library.as_str())), "{libraries:?}");
    run(Command::new("chown").arg("-R").arg("65532:65532").arg(folder.join("var/lib/portcullis")));
}

#[test]
fn the_image_starts_without_root_or_shell_and_writes_to_its_volume_alone() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT RUN: chroot needs root");
        return;
    }
    let (folder, origin) = (tempfile::tempdir().unwrap(), Origin::fixed("text/plain", "behind"));
    // Others may pass through to what is theirs.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    image(folder.path());
    let (port, admin) = (free_port(), free_port());
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("/usr/sbin/chroot");
        command
            .args(["--userspec", "65532:65532"])
            .arg(folder.path())
            .arg("/usr/bin/portcullis")
            .args(arguments);
        command
            .env_clear()
            .env("PORTCULLIS_ORIGIN", origin.url())
            .env("PORTCULLIS_PORT", port.to_string())
            .env("PORTCULLIS_ADMIN", format!("127.0.0.1:{admin}"))
            .env("PORTCULLIS_SITE", "a.example");
        command
    };
    let conf = "/etc/portcullis/portcullis.toml";
    let mut edge = inside(&["run", "--conf", conf])
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the edge of the image", || {
        inside(&["health", "--conf", conf]).output().unwrap().status.success().then_some(())
    });
    let answer = crate::support::Client::get(([127, 0, 0, 1], port).into(), "a.example", "/");
    assert_eq!((answer.status, answer.text()), (200, "behind".to_owned()));
    assert_eq!(http_get(([127, 0, 0, 1], admin).into(), "/").status, 200);
    let process = rustix::process::Pid::from_child(&edge);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(edge.wait().unwrap().success());
    assert!(!inside(&["health", "--conf", conf]).output().unwrap().status.success());
    assert!(std::fs::read_dir(folder.path().join("var/lib/portcullis")).unwrap().count() > 0, "its state");
}
