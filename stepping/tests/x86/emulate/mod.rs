mod branch;
mod defaults;
mod fault;
mod flags;
mod shadow_stack;
