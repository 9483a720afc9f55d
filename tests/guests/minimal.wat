;; The smallest provider there can be, as a compiler for core WebAssembly would make it: it lists `x://hello`, and reads it.
;; What it answers lies ready in its memory, laid out as the canonical ABI has it; what stays zero is "ok", or "absent".
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 16)
  (global $next (mut i32) (i32.const 65536))
  ;; Gives what comes next, and takes nothing back. The adapter for preview 1 takes some pages for itself.
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.set $next (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  (func (export "wharf:provider/resources@0.1.0#list") (param i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "wharf:provider/resources@0.1.0#templates") (result i32) (i32.const 1152))
  (func (export "wharf:provider/resources@0.1.0#read") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    (drop (call $random (i32.const 4096) (i32.const 8)))
    (i32.const 1280))
  ;; A page of one resource, at 2048.
  (data (i32.const 1028) "\00\08\00\00\01\00\00\00")
  ;; Its URI and its name.
  (data (i32.const 2048) "\00\0c\00\00\09\00\00\00" "\04\0c\00\00\05\00\00\00")
  ;; A reading of one content, at 2560.
  (data (i32.const 1284) "\01\00\00\00" "\00\0a\00\00\01\00\00\00")
  ;; Its body: text, the name again.
  (data (i32.const 2584) "\00\00\00\00" "\04\0c\00\00\05\00\00\00")
  (data (i32.const 3072) "x://hello"))
