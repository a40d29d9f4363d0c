/* What a C program sees of libntrace. Each failure names its line; the status is the number of failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace.h>

static int failures;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "check.c:%d: %s\n", __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

/* A thread of 128 registers, with 256 bytes of memory at 0x7000. */
struct machine {
    uint64_t registers[128];
    uint8_t memory[256];
};

#define MEMORY 0x7000

static uint64_t get(void *context, uint8_t number)
{
    return ((struct machine *)context)->registers[number];
}

static void set(void *context, uint8_t number, uint64_t value)
{
    ((struct machine *)context)->registers[number] = value;
}

static size_t room(uint64_t address, size_t size)
{
    if (address < MEMORY || address - MEMORY > sizeof((struct machine *)0)->memory)
        return 0;
    return size < sizeof((struct machine *)0)->memory - (address - MEMORY) ? size
                                                                            : sizeof((struct machine *)0)->memory - (address - MEMORY);
}

static size_t read_memory(void *context, uint64_t address, uint8_t *buffer, size_t size)
{
    size_t count = room(address, size);

    memcpy(buffer, ((struct machine *)context)->memory + (count ? address - MEMORY : 0), count);
    return count;
}

static size_t write_memory(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
    size_t count = room(address, size);

    if (count == size)
        memcpy(((struct machine *)context)->memory + (address - MEMORY), bytes, size);
    return count;
}

static struct ntrace_thread thread_of(struct machine *machine)
{
    struct ntrace_thread thread = { 0 };

    thread.context = machine;
    thread.get = get;
    thread.set = set;
    thread.read = read_memory;
    thread.write = write_memory;
    return thread;
}

/* Memory of its own for each structure and each piece of code: valgrind and the address sanitizer see the first byte behind it. */
static void *alone(const void *bytes, size_t size)
{
    void *memory = malloc(size);

    if (!memory)
        exit(99);
    if (bytes)
        memcpy(memory, bytes, size);
    return memory;
}

static void decodes_x86(void)
{
    /* mov rax, [rip+0x10]; then call 0x1000+5+0x20 */
    static const uint8_t load[] = { 0x48, 0x8b, 0x05, 0x10, 0, 0, 0 }, call[] = { 0xe8, 0x20, 0, 0, 0 };
    static const uint8_t none[] = { 0x06 }, jump[] = { 0xff, 0xe0 };
    struct ntrace_x86_insn *insn = alone(NULL, sizeof *insn);
    uint8_t *three = alone(load, 3);
    char name[32], little[3];

    CHECK(ntrace_x86_decode(load, sizeof load, NTRACE_X86_64, 0x1000, insn) == NTRACE_STATUS_OK);
    CHECK(insn->length == 7 && insn->opcode == 0x8b && insn->opcode_offset == 1 && insn->modrm_offset == 2);
    CHECK(insn->is_rip_relative && insn->address == 0x1017 && insn->displacement_offset == 3 && insn->displacement_size == 4);
    CHECK(insn->flow == NTRACE_FLOW_NEXT && insn->target_kind == NTRACE_TARGET_NONE && insn->operand_size == 8);
    CHECK(insn->writes[0] == 1 && insn->reads[0] == 0 && insn->reads[1] >> (NTRACE_X86_RIP - 64) & 1);
    CHECK(ntrace_x86_decode(call, sizeof call, NTRACE_X86_64, 0x1000, insn) == NTRACE_STATUS_OK);
    CHECK(insn->flow == NTRACE_FLOW_CALL && insn->target_kind == NTRACE_TARGET_ADDRESS && insn->address == 0x1025);
    CHECK(insn->immediate_offset == 1 && insn->immediate_size == 4);
    CHECK(ntrace_x86_decode(jump, sizeof jump, NTRACE_X86_64, 0, insn) == NTRACE_STATUS_OK);
    CHECK(insn->target_kind == NTRACE_TARGET_REGISTER && insn->target_register == 0 && insn->flow == NTRACE_FLOW_JUMP);
    CHECK(ntrace_x86_decode(three, 3, NTRACE_X86_64, 0, insn) == NTRACE_STATUS_TRUNCATED);
    CHECK(ntrace_x86_decode(load, 0, NTRACE_X86_64, 0, insn) == NTRACE_STATUS_TRUNCATED);
    CHECK(ntrace_x86_decode(none, 1, NTRACE_X86_64, 0, insn) == NTRACE_STATUS_INVALID);
    CHECK(ntrace_x86_decode(none, 1, NTRACE_X86_32 | NTRACE_X86_AMD, 0, insn) == NTRACE_STATUS_OK);
    CHECK(ntrace_x86_decode(NULL, 1, NTRACE_X86_64, 0, insn) == NTRACE_STATUS_ARGUMENT);
    CHECK(ntrace_x86_decode(none, 1, 3, 0, insn) == NTRACE_STATUS_ARGUMENT);
    CHECK(ntrace_x86_decode(none, 1, 16 | NTRACE_X86_64, 0, insn) == NTRACE_STATUS_ARGUMENT);
    CHECK(ntrace_x86_decode(load, sizeof load, NTRACE_X86_64, 0, NULL) == NTRACE_STATUS_ARGUMENT);
    CHECK(ntrace_x86_mnemonic(load, sizeof load, NTRACE_X86_64, name, sizeof name) == 3 && !strcmp(name, "mov"));
    CHECK(ntrace_x86_mnemonic(call, sizeof call, NTRACE_X86_64, little, sizeof little) == 4 && !strcmp(little, "ca"));
    CHECK(ntrace_x86_mnemonic(none, 1, NTRACE_X86_64, NULL, 0) == 0);
    free(insn);
    free(three);
}

static void passes_x86(void)
{
    static const uint8_t load[] = { 0x48, 0x8b, 0x05, 0x10, 0, 0, 0 }, call[] = { 0xe8, 0x20, 0, 0, 0 };
    static const uint8_t enclu[] = { 0x0f, 0x01, 0xd7 };
    struct machine machine = { { 0 }, { 0 } };
    struct ntrace_thread thread = thread_of(&machine);
    struct ntrace_slot *slot = alone(NULL, sizeof *slot);
    struct ntrace_plan *plan = alone(NULL, sizeof *plan);

    CHECK(ntrace_x86_plan(load, sizeof load, NTRACE_X86_64, 0x1000, plan) == NTRACE_STATUS_OK);
    CHECK(plan->kind == NTRACE_PLAN_KIND_SLOT);
    CHECK(ntrace_x86_slot(load, sizeof load, NTRACE_X86_64, 0x1000, 0x2000, slot) == NTRACE_STATUS_OK);
    CHECK(slot->exit == NTRACE_SLOT_EXIT_JUMP && slot->length == 12 && slot->bytes[7] == 0xe9 && slot->bytes[31] == 0xcc);
    CHECK(slot->place_count >= 2 && slot->places[0].offset == 0 && slot->places[0].pc == 0x1000 && !slot->places[0].is_done);
    CHECK(slot->places[1].offset == 7 && slot->places[1].pc == 0x1007 && slot->places[1].is_done);
    /* Too far for rip-relative addressing: another register has the address. */
    CHECK(ntrace_x86_slot(load, sizeof load, NTRACE_X86_64, 0x1000, 0x7000000000, slot) == NTRACE_STATUS_OK);
    CHECK(slot->has_scratch && slot->scratch_value == 0x1017 && slot->exit == NTRACE_SLOT_EXIT_TRAP && slot->exit_offset == 7);
    CHECK(ntrace_x86_plan(enclu, sizeof enclu, NTRACE_X86_64, 0, plan) == NTRACE_STATUS_REFUSED);
    CHECK(plan->kind == NTRACE_PLAN_KIND_REFUSE && plan->refusal == 2);
    CHECK(ntrace_x86_slot(enclu, sizeof enclu, NTRACE_X86_64, 0, 0x1000, slot) == NTRACE_STATUS_REFUSED);

    CHECK(ntrace_x86_plan(call, sizeof call, NTRACE_X86_64, 0x1000, plan) == NTRACE_STATUS_OK);
    CHECK(plan->kind == NTRACE_PLAN_KIND_EMULATE);
    machine.registers[4] = MEMORY + 16;
    CHECK(ntrace_x86_emulate(call, sizeof call, NTRACE_X86_64, 0x1000, &thread) == NTRACE_EMULATION_DONE);
    CHECK(machine.registers[NTRACE_X86_RIP] == 0x1025 && machine.registers[4] == MEMORY + 8);
    CHECK(machine.memory[8] == 0x05 && machine.memory[9] == 0x10 && machine.memory[10] == 0);
    machine.registers[4] = 0x100;
    machine.registers[NTRACE_X86_RIP] = 0x1000;
    CHECK(ntrace_x86_emulate(call, sizeof call, NTRACE_X86_64, 0x1000, &thread) == NTRACE_STATUS_FAULT);
    CHECK(thread.fault_address == 0xf8 && machine.registers[4] == 0x100);
    CHECK(ntrace_x86_emulate(load, sizeof load, NTRACE_X86_64, 0x1000, &thread) == NTRACE_STATUS_REFUSED);
    CHECK(ntrace_x86_emulate(call, sizeof call, NTRACE_X86_64, 0x1000, NULL) == NTRACE_STATUS_ARGUMENT);
    thread.get = NULL;
    CHECK(ntrace_x86_emulate(call, sizeof call, NTRACE_X86_64, 0x1000, &thread) == NTRACE_STATUS_ARGUMENT);
    free(slot);
    free(plan);
}

static void does_a64(void)
{
    /* ldxr x1, [x0]; add x1, x1, #1; stxr w2, x1, [x0]; cbnz w2, -12; bl +0x100 */
    static const uint32_t code[] = { 0xc85f7c01, 0x91000421, 0xc8027c01, 0x35ffffa2, 0x94000040 };
    struct machine machine = { { 0 }, { 0 } };
    struct ntrace_thread thread = thread_of(&machine);
    struct ntrace_a64_insn *insn = alone(NULL, sizeof *insn);
    struct ntrace_slot *slot = alone(NULL, sizeof *slot);
    struct ntrace_plan *plan = alone(NULL, sizeof *plan);
    char name[32];

    CHECK(ntrace_a64_decode(code[4], 0x1010, insn) == NTRACE_STATUS_OK);
    CHECK(insn->flow == NTRACE_FLOW_CALL && insn->target_kind == NTRACE_TARGET_ADDRESS && insn->address == 0x1110);
    CHECK(ntrace_a64_decode(code[1], 0, insn) == NTRACE_STATUS_OK && insn->reads[0] == 2);
    CHECK(ntrace_a64_decode(0x00ff0000, 0, insn) == NTRACE_STATUS_INVALID);
    CHECK(ntrace_a64_mnemonic(code[0], name, sizeof name) == 4 && !strcmp(name, "ldxr"));
    CHECK(ntrace_a64_plan(code, 5, 1, 0x1004, plan) == NTRACE_STATUS_REFUSED && plan->refusal == 2);
    CHECK(ntrace_a64_plan(code, 5, 5, 0x1014, plan) == NTRACE_STATUS_ARGUMENT);
    CHECK(ntrace_a64_plan(code + 1, 1, 0, 0x1004, plan) == NTRACE_STATUS_OK && plan->kind == NTRACE_PLAN_KIND_SLOT);
    CHECK(ntrace_a64_slot(code + 1, 1, 0, 0x1004, 0x2000, slot) == NTRACE_STATUS_OK);
    CHECK(slot->exit == NTRACE_SLOT_EXIT_JUMP && !memcmp(slot->bytes, &code[1], 4));
    CHECK(ntrace_a64_emulate(code, 5, 4, 0x1010, &thread) == NTRACE_EMULATION_DONE);
    CHECK(machine.registers[NTRACE_A64_PC] == 0x1110 && machine.registers[30] == 0x1014);
    free(insn);
    free(slot);
    free(plan);
}

int main(void)
{
    decodes_x86();
    passes_x86();
    does_a64();
    return failures;
}
