mod branch;
mod fault;
mod flags;
mod shadow_stack;
