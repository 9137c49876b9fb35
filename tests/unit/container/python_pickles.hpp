// One object as CPython 3.11's pickle.dumps(object, protocol) writes it, protocols 0 to 5:
//
//   shared = [1]
//   {"scale": 65536.0, "odd": [0.1, -0.0, inf, nan, 5e-324],
//    "ints": [0, 255, 256, 65535, 65536, -1, -2**31, 2**31, 2**63-1, -2**63, 2**63, 2**100, -2**70],
//    "fixed": (True, False, None), "one": (1,), "two": (1, 2), "text": "h\u00e9\u6a21\U0001f600 \n\\",
//    "bytes": b"\x00\xff'\n", "set": {7}, "empty": [{}, [], (), ""], "long": "x" * 300, "again": [shared, shared]}
#pragma once

#include <string_view>

namespace tare::test {

using namespace std::string_view_literals;

inline constexpr std::string_view python_pickles[] = {
    // protocol 0
    "(dp0\012Vscale\012p1\012F65536.0\012sVodd\012p2\012(lp3\012F0.1\012aF-0.0\012aFinf\012aFnan\012a"
    "F5e-324\012asVints\012p4\012(lp5\012I0\012aI255\012aI256\012aI65535\012aI65536\012aI-1\012aI-214"
    "7483648\012aL2147483648L\012aL9223372036854775807L\012aL-9223372036854775808L\012aL9223372036854"
    "775808L\012aL1267650600228229401496703205376L\012aL-1180591620717411303424L\012asVfixed\012p6"
    "\012(I01\012I00\012Ntp7\012sVone\012p8\012(I1\012tp9\012sVtwo\012p10\012(I1\012I2\012tp11\012sVt"
    "ext\012p12\012Vh\351\134u6a21\134U0001f600 \134u000a\134u005c\012p13\012sVbytes\012p14\012c_code"
    "cs\012encode\012p15\012(V\134u0000\377'\134u000a\012p16\012Vlatin1\012p17\012tp18\012Rp19\012sVs"
    "et\012p20\012c__builtin__\012set\012p21\012((lp22\012I7\012atp23\012Rp24\012sVempty\012p25\012(l"
    "p26\012(dp27\012a(lp28\012a(taV\012p29\012asVlong\012p30\012Vxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\012p31\012sVagain\012p"
    "32\012(lp33\012(lp34\012I1\012aag34\012as."sv,
    // protocol 1
    "}q\000(X\005\000\000\000scaleq\001G@\360\000\000\000\000\000\000X\003\000\000\000oddq\002]q\003("
    "G\077\271\231\231\231\231\231\232G\200\000\000\000\000\000\000\000G\177\360\000\000\000\000\000"
    "\000G\177\370\000\000\000\000\000\000G\000\000\000\000\000\000\000\001eX\004\000\000\000intsq"
    "\004]q\005(K\000K\377M\000\001M\377\377J\000\000\001\000J\377\377\377\377J\000\000\000\200L21474"
    "83648L\012L9223372036854775807L\012L-9223372036854775808L\012L9223372036854775808L\012L126765060"
    "0228229401496703205376L\012L-1180591620717411303424L\012eX\005\000\000\000fixedq\006(I01\012I00"
    "\012Ntq\007X\003\000\000\000oneq\010(K\001tq\011X\003\000\000\000twoq\012(K\001K\002tq\013X\004"
    "\000\000\000textq\014X\015\000\000\000h\303\251\346\250\241\360\237\230\200 \012\134q\015X\005"
    "\000\000\000bytesq\016c_codecs\012encode\012q\017(X\005\000\000\000\000\303\277'\012q\020X\006"
    "\000\000\000latin1q\021tq\022Rq\023X\003\000\000\000setq\024c__builtin__\012set\012q\025(]q\026K"
    "\007atq\027Rq\030X\005\000\000\000emptyq\031]q\032(}q\033]q\034)X\000\000\000\000q\035eX\004\000"
    "\000\000longq\036X,\001\000\000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxq\037X\005\000\000\000againq ]q!(]q\042K\001ah\042eu."sv,
    // protocol 2
    "\200\002}q\000(X\005\000\000\000scaleq\001G@\360\000\000\000\000\000\000X\003\000\000\000oddq"
    "\002]q\003(G\077\271\231\231\231\231\231\232G\200\000\000\000\000\000\000\000G\177\360\000\000"
    "\000\000\000\000G\177\370\000\000\000\000\000\000G\000\000\000\000\000\000\000\001eX\004\000\000"
    "\000intsq\004]q\005(K\000K\377M\000\001M\377\377J\000\000\001\000J\377\377\377\377J\000\000\000"
    "\200\212\005\000\000\000\200\000\212\010\377\377\377\377\377\377\377\177\212\010\000\000\000\000"
    "\000\000\000\200\212\011\000\000\000\000\000\000\000\200\000\212\015\000\000\000\000\000\000\000"
    "\000\000\000\000\000\020\212\011\000\000\000\000\000\000\000\000\300eX\005\000\000\000fixedq\006"
    "\210\211N\207q\007X\003\000\000\000oneq\010K\001\205q\011X\003\000\000\000twoq\012K\001K\002\206"
    "q\013X\004\000\000\000textq\014X\015\000\000\000h\303\251\346\250\241\360\237\230\200 \012\134q"
    "\015X\005\000\000\000bytesq\016c_codecs\012encode\012q\017X\005\000\000\000\000\303\277'\012q"
    "\020X\006\000\000\000latin1q\021\206q\022Rq\023X\003\000\000\000setq\024c__builtin__\012set\012q"
    "\025]q\026K\007a\205q\027Rq\030X\005\000\000\000emptyq\031]q\032(}q\033]q\034)X\000\000\000\000q"
    "\035eX\004\000\000\000longq\036X,\001\000\000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxq\037X\005\000\000\000againq ]q!(]q\042"
    "K\001ah\042eu."sv,
    // protocol 3
    "\200\003}q\000(X\005\000\000\000scaleq\001G@\360\000\000\000\000\000\000X\003\000\000\000oddq"
    "\002]q\003(G\077\271\231\231\231\231\231\232G\200\000\000\000\000\000\000\000G\177\360\000\000"
    "\000\000\000\000G\177\370\000\000\000\000\000\000G\000\000\000\000\000\000\000\001eX\004\000\000"
    "\000intsq\004]q\005(K\000K\377M\000\001M\377\377J\000\000\001\000J\377\377\377\377J\000\000\000"
    "\200\212\005\000\000\000\200\000\212\010\377\377\377\377\377\377\377\177\212\010\000\000\000\000"
    "\000\000\000\200\212\011\000\000\000\000\000\000\000\200\000\212\015\000\000\000\000\000\000\000"
    "\000\000\000\000\000\020\212\011\000\000\000\000\000\000\000\000\300eX\005\000\000\000fixedq\006"
    "\210\211N\207q\007X\003\000\000\000oneq\010K\001\205q\011X\003\000\000\000twoq\012K\001K\002\206"
    "q\013X\004\000\000\000textq\014X\015\000\000\000h\303\251\346\250\241\360\237\230\200 \012\134q"
    "\015X\005\000\000\000bytesq\016C\004\000\377'\012q\017X\003\000\000\000setq\020cbuiltins\012set"
    "\012q\021]q\022K\007a\205q\023Rq\024X\005\000\000\000emptyq\025]q\026(}q\027]q\030)X\000\000\000"
    "\000q\031eX\004\000\000\000longq\032X,\001\000\000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxq\033X\005\000\000\000againq\034]q"
    "\035(]q\036K\001ah\036eu."sv,
    // protocol 4
    "\200\004\225f\002\000\000\000\000\000\000}\224(\214\005scale\224G@\360\000\000\000\000\000\000"
    "\214\003odd\224]\224(G\077\271\231\231\231\231\231\232G\200\000\000\000\000\000\000\000G\177\360"
    "\000\000\000\000\000\000G\177\370\000\000\000\000\000\000G\000\000\000\000\000\000\000\001e\214"
    "\004ints\224]\224(K\000K\377M\000\001M\377\377J\000\000\001\000J\377\377\377\377J\000\000\000"
    "\200\212\005\000\000\000\200\000\212\010\377\377\377\377\377\377\377\177\212\010\000\000\000\000"
    "\000\000\000\200\212\011\000\000\000\000\000\000\000\200\000\212\015\000\000\000\000\000\000\000"
    "\000\000\000\000\000\020\212\011\000\000\000\000\000\000\000\000\300e\214\005fixed\224\210\211N"
    "\207\224\214\003one\224K\001\205\224\214\003two\224K\001K\002\206\224\214\004text\224\214\015h"
    "\303\251\346\250\241\360\237\230\200 \012\134\224\214\005bytes\224C\004\000\377'\012\224\214\003"
    "set\224\217\224(K\007\220\214\005empty\224]\224(}\224]\224)\214\000\224e\214\004long\224X,\001"
    "\000\000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxx\224\214\005again\224]\224(]\224K\001ah\033eu."sv,
    // protocol 5
    "\200\005\225f\002\000\000\000\000\000\000}\224(\214\005scale\224G@\360\000\000\000\000\000\000"
    "\214\003odd\224]\224(G\077\271\231\231\231\231\231\232G\200\000\000\000\000\000\000\000G\177\360"
    "\000\000\000\000\000\000G\177\370\000\000\000\000\000\000G\000\000\000\000\000\000\000\001e\214"
    "\004ints\224]\224(K\000K\377M\000\001M\377\377J\000\000\001\000J\377\377\377\377J\000\000\000"
    "\200\212\005\000\000\000\200\000\212\010\377\377\377\377\377\377\377\177\212\010\000\000\000\000"
    "\000\000\000\200\212\011\000\000\000\000\000\000\000\200\000\212\015\000\000\000\000\000\000\000"
    "\000\000\000\000\000\020\212\011\000\000\000\000\000\000\000\000\300e\214\005fixed\224\210\211N"
    "\207\224\214\003one\224K\001\205\224\214\003two\224K\001K\002\206\224\214\004text\224\214\015h"
    "\303\251\346\250\241\360\237\230\200 \012\134\224\214\005bytes\224C\004\000\377'\012\224\214\003"
    "set\224\217\224(K\007\220\214\005empty\224]\224(}\224]\224)\214\000\224e\214\004long\224X,\001"
    "\000\000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxx\224\214\005again\224]\224(]\224K\001ah\033eu."sv,
};

}  // namespace tare::test
