/*
 * Counts the calls of a function without ever lifting the breakpoint, so that no thread passes it unseen.
 *
 *     breakpoint FUNCTION PROGRAM [ARGUMENT]...
 *
 * Linux on x86-64. The program is one that is not position-independent (gcc -no-pie), so that nm has the function's address.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ntrace.h>

struct breakpoint {
    unsigned long address;
    unsigned char code[16];
    struct ntrace_plan plan;
    struct ntrace_slot slot;
    unsigned long slot_address;
    unsigned long hits;
};

struct thread {
    pid_t pid;
    struct user_regs_struct registers;
};

static void die(const char *what)
{
    fprintf(stderr, "breakpoint: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The address of a function by nm(1). */
static unsigned long find(const char *function, const char *program)
{
    char command[4096], line[4096], name[4096];
    unsigned long address;
    FILE *nm;

    snprintf(command, sizeof command, "nm --defined-only '%s'", program);
    nm = popen(command, "r");
    while (nm && fgets(line, sizeof line, nm)) {
        if (sscanf(line, "%lx %*c %s", &address, name) == 2 && !strcmp(name, function)) {
            pclose(nm);
            return address;
        }
    }
    fprintf(stderr, "breakpoint: %s has no function %s\n", program, function);
    exit(1);
}

/* Where the kernel has a register, by libntrace's number. */
static unsigned long long *place(struct user_regs_struct *r, uint8_t number)
{
    unsigned long long *general[] = { &r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp, &r->rsi, &r->rdi,
                                      &r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15 };
    static unsigned long long none;

    switch (number) {
    case NTRACE_X86_RIP: return &r->rip;
    case NTRACE_X86_FLAGS: return &r->eflags;
    case NTRACE_X86_FS_BASE: return &r->fs_base;
    case NTRACE_X86_GS_BASE: return &r->gs_base;
    }
    return number < 16 ? general[number] : (none = 0, &none);
}

static uint64_t get(void *context, uint8_t number)
{
    return *place(&((struct thread *)context)->registers, number);
}

static void set(void *context, uint8_t number, uint64_t value)
{
    *place(&((struct thread *)context)->registers, number) = value;
}

static size_t read_memory(void *context, uint64_t address, uint8_t *buffer, size_t size)
{
    struct iovec here = { buffer, size }, there = { (void *)address, size };
    ssize_t count = process_vm_readv(((struct thread *)context)->pid, &here, 1, &there, 1, 0);

    return count < 0 ? 0 : (size_t)count;
}

static size_t write_memory(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
    struct iovec here = { (void *)bytes, size }, there = { (void *)address, size };
    ssize_t count = process_vm_writev(((struct thread *)context)->pid, &here, 1, &there, 1, 0);

    return count < 0 ? 0 : (size_t)count;
}

/* Writes code, which no thread may write itself. */
static void poke(pid_t pid, unsigned long address, const unsigned char *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += sizeof(long)) {
        long word = ptrace(PTRACE_PEEKTEXT, pid, address + done, 0);
        memcpy(&word, bytes + done, size - done < sizeof word ? size - done : sizeof word);
        if (ptrace(PTRACE_POKETEXT, pid, address + done, word))
            die("writing code");
    }
}

/* Sends the thread past the breakpoint. */
static void pass(struct breakpoint *b, struct thread *thread)
{
    struct user_regs_struct *r = &thread->registers;
    struct ntrace_thread calls = { .context = thread, .get = get, .set = set, .read = read_memory, .write = write_memory };
    int status;

    r->rip = b->address;
    if (b->plan.kind == NTRACE_PLAN_KIND_EMULATE) {
        int outcome = ntrace_x86_emulate(b->code, sizeof b->code, NTRACE_X86_64, b->address, &calls);
        if (outcome == NTRACE_EMULATION_DONE) {
            if (ptrace(PTRACE_SETREGS, thread->pid, 0, r))
                die("registers");
            return;
        }
    }
    r->rip = b->slot_address;
    if (b->slot.has_scratch)
        set(thread, b->slot.scratch_register, b->slot.scratch_value);
    if (ptrace(PTRACE_SETREGS, thread->pid, 0, r))
        die("registers");
    if (b->slot.exit == NTRACE_SLOT_EXIT_JUMP)
        return;
    if (ptrace(PTRACE_SINGLESTEP, thread->pid, 0, 0) || waitpid(thread->pid, &status, 0) != thread->pid)
        die("single step");
    if (ptrace(PTRACE_GETREGS, thread->pid, 0, r))
        die("registers");
    for (int i = 0; i < b->slot.place_count; i++)
        if (b->slot.places[i].offset == r->rip - b->slot_address)
            r->rip = b->slot.places[i].pc;
    if (ptrace(PTRACE_SETREGS, thread->pid, 0, r))
        die("registers");
}

int main(int argc, char **argv)
{
    struct breakpoint b = { 0 };
    struct thread thread = { 0 };
    static const unsigned char int3 = 0xcc;
    int status, signal = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: breakpoint FUNCTION PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    b.address = find(argv[1], argv[2]);
    thread.pid = fork();
    if (!thread.pid) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[2], argv + 2);
        die(argv[2]);
    }
    if (thread.pid < 0 || waitpid(thread.pid, &status, 0) != thread.pid || !WIFSTOPPED(status))
        die(argv[2]);
    read_memory(&thread, b.address, b.code, sizeof b.code);
    /* The code at the entry point runs once, before any function is called: it makes room for the slot. */
    b.slot_address = find("_start", argv[2]);
    status = ntrace_x86_plan(b.code, sizeof b.code, NTRACE_X86_64, b.address, &b.plan);
    if (!status)
        status = ntrace_x86_slot(b.code, sizeof b.code, NTRACE_X86_64, b.address, b.slot_address, &b.slot);
    if (status) {
        fprintf(stderr, "breakpoint: no breakpoint can stand there (%d, reason %d)\n", status, b.plan.refusal);
        kill(thread.pid, SIGKILL);
        return 1;
    }
    poke(thread.pid, b.address, &int3, 1);
    for (int ready = 0;;) {
        if (ptrace(PTRACE_CONT, thread.pid, 0, signal) || waitpid(thread.pid, &status, 0) != thread.pid)
            die("waiting");
        if (!WIFSTOPPED(status))
            break;
        signal = WSTOPSIG(status);
        if (ptrace(PTRACE_GETREGS, thread.pid, 0, &thread.registers))
            die("registers");
        if (signal != SIGTRAP || thread.registers.rip != b.address + 1)
            continue;
        signal = 0;
        b.hits++;
        if (!ready++)
            poke(thread.pid, b.slot_address, b.slot.bytes, sizeof b.slot.bytes);
        pass(&b, &thread);
    }
    printf("%lu calls of %s\n", b.hits, argv[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
