/* One guest program in QuickJS-NG, driven from outside by `step`.
 *
 * The guest never calls the host. What it wants is written by the kernel (runtime/guest/kernel.js) as lines of
 * JSON into `header.out`, which the driver reads after each step, also after it interrupted one. What the host
 * answers comes in with the next step. Including the engine's source gives access to its random state: a memory
 * image taken once would otherwise give every program the same `Math.random`.
 */
#include "quickjs.c"

#include <time.h>

#define EXPORT(name) __attribute__((export_name(#name)))

enum { INPUT_BYTES = 65536 };
/* A larger output buffer is given back once it was read. */
enum { OUT_KEEP_BYTES = 1 << 20 };
/* Given up on the first refused allocation, so that the error about it can be built. */
enum { BALLAST_BYTES = 128 << 10 };

enum operation { OP_PRELUDE, OP_START, OP_PROGRAM, OP_ANSWERS, OP_TICK };
enum state { WAITING, DONE, OUT_OF_MEMORY, BROKEN };

/* Read by the driver: keep in step with sandbox.py. */
static struct {
    uint32_t out;       /* address of the lines written since the last step began */
    uint32_t out_bytes; /* their length */
    double wake_ms;     /* monotonic time of the next timer; negative: none */
    uint64_t seed;      /* of Math.random; written by the driver before OP_START */
    uint32_t pending;   /* host calls without an answer */
} header = {.wake_ms = -1};

static JSRuntime *runtime;
static JSContext *context;
static JSValue program, on_start, on_answers, on_tick, on_value, on_error;
static char input[INPUT_BYTES + 1];
static char *out;
static size_t out_capacity;
static void *ballast;
static uint32_t refused;

/* The engine keeps count of its memory by asking for a block's size when it takes and when it frees it. The C
 * library answers differently over time (it lends slack to a neighbour), the count would drift, and the engine
 * aborts once it is negative. So each block says its own size. */
enum { SIZE_BYTES = 8 };

static void *with_size(void *block, size_t size)
{
    if (!block) {
        refused++;
        free(ballast);
        ballast = NULL;
        return NULL;
    }
    *(size_t *)block = size;
    return (char *)block + SIZE_BYTES;
}

static void *start_of(const void *block)
{
    return block ? (char *)block - SIZE_BYTES : NULL;
}

static size_t padded(size_t size)
{
    return size > SIZE_MAX - SIZE_BYTES ? SIZE_MAX : size + SIZE_BYTES;
}

static void *sized_calloc(void *opaque, size_t count, size_t size)
{
    return with_size(calloc(1, padded(count * size)), count * size);
}

static void *sized_malloc(void *opaque, size_t size)
{
    return with_size(malloc(padded(size)), size);
}

static void sized_free(void *opaque, void *block)
{
    free(start_of(block));
}

static void *sized_realloc(void *opaque, void *block, size_t size)
{
    return with_size(realloc(start_of(block), padded(size)), size);
}

static size_t size_of(const void *block)
{
    return block ? *(size_t *)start_of(block) : 0;
}

static const JSMallocFunctions allocator = {
    .js_calloc = sized_calloc,
    .js_malloc = sized_malloc,
    .js_free = sized_free,
    .js_realloc = sized_realloc,
    .js_malloc_usable_size = size_of,
};

static int append(const char *text, size_t size)
{
    size_t needed = header.out_bytes + size;
    if (needed > out_capacity) {
        size_t capacity = needed + needed / 2 + 4096;
        char *grown = sized_realloc(NULL, out, capacity);
        if (!grown)
            return -1;
        out = grown;
        out_capacity = capacity;
        header.out = (uint32_t)(uintptr_t)out;
    }
    memcpy(out + header.out_bytes, text, size);
    header.out_bytes = needed;
    return 0;
}

/* push(...pieces): write one line; all of it or nothing. */
static JSValue native_push(JSContext *cx, JSValueConst self, int count, JSValueConst *pieces)
{
    uint32_t before = header.out_bytes;
    for (int i = 0; i < count; i++) {
        size_t size;
        const char *text = JS_ToCStringLen(cx, &size, pieces[i]);
        int failed = !text || append(text, size);
        JS_FreeCString(cx, text);
        if (failed) {
            header.out_bytes = before;
            return text ? JS_ThrowOutOfMemory(cx) : JS_EXCEPTION;
        }
    }
    if (append("\n", 1)) {
        header.out_bytes = before;
        return JS_ThrowOutOfMemory(cx);
    }
    return JS_UNDEFINED;
}

/* wake(ms): when the driver must step again on its own account; negative: never. */
static JSValue native_wake(JSContext *cx, JSValueConst self, int count, JSValueConst *arguments)
{
    return JS_ToFloat64(cx, &header.wake_ms, arguments[0]) ? JS_EXCEPTION : JS_UNDEFINED;
}

/* expect(count): how many host calls wait for their answers. */
static JSValue native_expect(JSContext *cx, JSValueConst self, int count, JSValueConst *arguments)
{
    return JS_ToUint32(cx, &header.pending, arguments[0]) ? JS_EXCEPTION : JS_UNDEFINED;
}

/* now(): monotonic milliseconds. */
static JSValue native_now(JSContext *cx, JSValueConst self, int count, JSValueConst *arguments)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return JS_NewFloat64(cx, now.tv_sec * 1e3 + now.tv_nsec / 1e6);
}

/* refused(): how many allocations the memory cap has refused so far. */
static JSValue native_refused(JSContext *cx, JSValueConst self, int count, JSValueConst *arguments)
{
    return JS_NewUint32(cx, refused);
}

/* install(onStart, onAnswers, onTick, onValue, onError): what the driver's steps call. */
static JSValue native_install(JSContext *cx, JSValueConst self, int count, JSValueConst *hooks)
{
    on_start = JS_DupValue(cx, hooks[0]);
    on_answers = JS_DupValue(cx, hooks[1]);
    on_tick = JS_DupValue(cx, hooks[2]);
    on_value = JS_DupValue(cx, hooks[3]);
    on_error = JS_DupValue(cx, hooks[4]);
    return JS_UNDEFINED;
}

static const JSCFunctionListEntry natives[] = {
    JS_CFUNC_DEF("push", 0, native_push),
    JS_CFUNC_DEF("wake", 1, native_wake),
    JS_CFUNC_DEF("expect", 1, native_expect),
    JS_CFUNC_DEF("now", 0, native_now),
    JS_CFUNC_DEF("refused", 0, native_refused),
    JS_CFUNC_DEF("install", 5, native_install),
};

/* Takes over `value`; an exception that is pending is dropped. */
static int discard(JSValue value)
{
    int is_exception = JS_IsException(value);
    JS_FreeValue(context, value);
    if (is_exception)
        JS_FreeValue(context, JS_GetException(context));
    return is_exception;
}

/* Hand over what ended the program. Only lack of memory can make the kernel fail at that. */
static int report_error(JSValue reason)
{
    JSValueConst arguments[] = {reason};
    int failed = discard(JS_Call(context, on_error, JS_UNDEFINED, 1, arguments));
    JS_FreeValue(context, reason);
    return failed ? OUT_OF_MEMORY : DONE;
}

static int report_exception(void)
{
    return report_error(JS_GetException(context));
}

static int report_value(JSValue value)
{
    JSValueConst arguments[] = {value};
    JSValue result = JS_Call(context, on_value, JS_UNDEFINED, 1, arguments);
    JS_FreeValue(context, value);
    if (JS_IsException(result))
        return report_exception();
    JS_FreeValue(context, result);
    return DONE;
}

static int run_jobs(void)
{
    JSContext *job_context;
    int result;
    while ((result = JS_ExecutePendingJob(runtime, &job_context)) != 0) {
        if (result < 0)
            return report_exception();
    }
    if (JS_IsUndefined(program))
        return WAITING;
    switch (JS_PromiseState(context, program)) {
    case JS_PROMISE_FULFILLED:
        return report_value(JS_PromiseResult(context, program));
    case JS_PROMISE_REJECTED:
        return report_error(JS_PromiseResult(context, program));
    default:
        return WAITING;
    }
}

static int run_prelude(const char *text, size_t size)
{
    JSValue prelude = JS_Eval(context, text, size, "fabric.js", JS_EVAL_TYPE_GLOBAL);
    JSValue native = JS_NewObject(context);
    JS_SetPropertyFunctionList(context, native, natives, countof(natives));
    JSValueConst arguments[] = {native};
    int failed = discard(JS_Call(context, prelude, JS_UNDEFINED, 1, arguments));
    JS_FreeValue(context, native);
    return discard(prelude) || failed ? BROKEN : WAITING;
}

/* Call a hook of the kernel with the input as text. */
static int run_hook(JSValueConst hook, const char *text, size_t size)
{
    JSValue argument = JS_NewStringLen(context, text, size);
    if (JS_IsException(argument))
        return report_exception();
    JSValueConst arguments[] = {argument};
    JSValue result = JS_Call(context, hook, JS_UNDEFINED, 1, arguments);
    JS_FreeValue(context, argument);
    if (JS_IsException(result))
        return report_exception();
    JS_FreeValue(context, result);
    return run_jobs();
}

static int run_program(const char *text, size_t size)
{
    JSValue function = JS_Eval(context, text, size, "program.js", JS_EVAL_TYPE_GLOBAL);
    if (JS_IsException(function))
        return report_exception();
    program = JS_Call(context, function, JS_UNDEFINED, 0, NULL);
    JS_FreeValue(context, function);
    if (JS_IsException(program)) {
        program = JS_UNDEFINED;
        return report_exception();
    }
    return run_jobs();
}

/* Run the timers that are due, each with its microtasks before the next. */
static int run_timers(void)
{
    for (;;) {
        JSValue more = JS_Call(context, on_tick, JS_UNDEFINED, 0, NULL);
        if (JS_IsException(more))
            return report_exception();
        int state = run_jobs();
        if (state != WAITING || !JS_VALUE_GET_BOOL(more))
            return state;
    }
}

static void forget_output(void)
{
    header.out_bytes = 0;
    if (out_capacity > OUT_KEEP_BYTES) {
        sized_free(NULL, out);
        out = NULL;
        out_capacity = 0;
        header.out = 0;
    }
}

/* Create the engine. Returns 0, or 1 when memory does not suffice. */
EXPORT(boot) int boot(uint32_t stack_bytes)
{
    program = JS_UNDEFINED;
    ballast = malloc(BALLAST_BYTES);
    runtime = JS_NewRuntime2(&allocator, NULL);
    if (!runtime || !ballast)
        return 1;
    JS_SetMaxStackSize(runtime, stack_bytes);
    context = JS_NewContextRaw(runtime);
    /* Everything of the language, nothing of a host: no atob, no performance. */
    return !context || JS_AddIntrinsicBaseObjects(context) || JS_AddIntrinsicDate(context) ||
           JS_AddIntrinsicEval(context) || JS_AddIntrinsicRegExp(context) || JS_AddIntrinsicJSON(context) ||
           JS_AddIntrinsicProxy(context) || JS_AddIntrinsicMapSet(context) ||
           JS_AddIntrinsicTypedArrays(context) || JS_AddIntrinsicPromise(context) ||
           JS_AddIntrinsicWeakRef(context);
}

EXPORT(header_address) void *header_address(void)
{
    return &header;
}

/* Where inputs of up to INPUT_BYTES go, with a zero byte after them. */
EXPORT(input_address) char *input_address(void)
{
    return input;
}

/* Room for a larger input and its zero byte; 0 when the memory cap refuses it. */
EXPORT(reserve) void *reserve(uint32_t size)
{
    return malloc(size);
}

EXPORT(release) void release(void *block)
{
    free(block);
}

/* Do one thing and run until nothing is left to do. Returns a `state`; the lines are in `header.out`. */
EXPORT(step) int step(int operation, const char *text, uint32_t size)
{
    JS_UpdateStackTop(runtime);
    forget_output();
    switch (operation) {
    case OP_PRELUDE:
        return run_prelude(text, size);
    case OP_START:
        context->random_state = header.seed | 1;
        return run_hook(on_start, text, size);
    case OP_PROGRAM:
        return run_program(text, size);
    case OP_ANSWERS:
        return run_hook(on_answers, text, size);
    case OP_TICK:
        return run_timers();
    default:
        return BROKEN;
    }
}
